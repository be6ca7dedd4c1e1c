"""The openai or anthropic client for Python against a server of ours: `<client> <origin> <key>`. Prints what it saw as JSON."""

import json
import sys

client, origin, key = sys.argv[1:4]
messages = [{"role": "user", "content": "Where does Ada live?"}]
seen = {}


def with_openai():
    import openai

    api = openai.OpenAI(base_url=f"{origin}/v1", api_key=key, max_retries=0)
    seen["chat"] = api.chat.completions.create(model="coa", messages=messages).choices[0].message.content
    chunks = api.chat.completions.create(model="coa", messages=messages, stream=True)
    seen["stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    first = api.responses.create(model="coa", input="Where does Ada live?")
    seen["response"] = first.output_text
    with api.responses.stream(model="coa", input="Where?", previous_response_id=first.id) as stream:
        seen["events"] = len([event.type for event in stream]) > 4
        seen["continued"] = stream.get_final_response().output_text
    background = api.responses.create(model="coa", input="Where does Ada live?", background=True)
    while background.status in ("queued", "in_progress"):
        background = api.responses.retrieve(background.id)
    seen["background"] = background.output_text
    seen["model"] = api.models.list().data[0].id
    try:
        api.with_options(api_key="wrong-key").models.list()
    except openai.AuthenticationError:
        seen["refused"] = True


def with_anthropic():
    import anthropic

    api = anthropic.Anthropic(base_url=origin, api_key=key, max_retries=0)
    text = lambda message: "".join(block.text for block in message.content if block.type == "text")
    seen["chat"] = text(api.messages.create(model="coa", max_tokens=1000, messages=messages))
    with api.messages.stream(model="coa", max_tokens=1000, messages=messages) as stream:
        seen["events"] = len(list(stream)) > 4
        seen["stream"] = text(stream.get_final_message())
    seen["counted"] = api.messages.count_tokens(model="coa", messages=messages).input_tokens > 0
    try:
        anthropic.Anthropic(base_url=origin, api_key="wrong-key", max_retries=0).messages.create(
            model="coa", max_tokens=10, messages=messages
        )
    except anthropic.AuthenticationError:
        seen["refused"] = True


with_openai() if client == "openai" else with_anthropic()
print(json.dumps(seen))
