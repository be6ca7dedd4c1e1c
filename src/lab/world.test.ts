import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createWorld, type World } from "./create-world.ts";
import { numberSplit, ownWords, seedCount } from "./names.ts";
import { serveWorld } from "./real-lab-tools.ts";
import { relationNamed, statedKind, statedValue } from "./relations.ts";
import {
  htmlAt,
  labBase,
  memoryFetch,
  pageHtml,
  pageSentences,
  pageUrl,
  servedFetch,
  worldDocuments,
} from "./world-pages.ts";
import { families, worldTasks } from "./world-tasks.ts";

/** Everything a world shows, as bytes. */
function bytes(world: World): string {
  return JSON.stringify([worldDocuments(world), world.entities.map((entity) => pageHtml(world, entity))]);
}

const names = (world: World) => new Set(world.entities.map((entity) => entity.name));

describe("createWorld", () => {
  it("gives byte-identical worlds for one seed", () => {
    const options = { seed: 3, pages: 200, split: "test" } as const;
    assert.equal(bytes(createWorld(options)), bytes(createWorld(options)));
    assert.notEqual(bytes(createWorld(options)), bytes(createWorld({ ...options, seed: 4 })));
  });

  it("shares no entity name between seeds or splits", () => {
    const seen = new Map<string, string>();
    for (const seed of [0, 1, 2, 7, 41, 319, 320, 1_000, seedCount - 1]) {
      for (const split of ["train", "test"] as const) {
        for (const name of names(createWorld({ seed, split, pages: 600 }))) {
          assert.equal(seen.get(name), undefined, `${name} is in ${seen.get(name)} and in ${seed} ${split}`);
          seen.set(name, `${seed} ${split}`);
        }
      }
    }
  });

  it("deals out all words of a length without repeating one", () => {
    const all = new Set<string>();
    for (let seed = 0; seed < 60; seed++) {
      for (const split of ["train", "test"] as const) {
        const words = ownWords(seed, split);
        for (let count = 0; count < 800; count++) all.add(words.next().value as string);
      }
    }
    assert.equal(all.size, 60 * 2 * 800);
  });

  it("has the pages asked for, linked, with three-digit numbers, families and homonyms", () => {
    const world = createWorld({ seed: 9, pages: 600 });
    assert.equal(world.entities.length, 600);
    assert.equal(world.byPage.size, 600);
    assert.ok(world.entities.every((entity) => entity.page >= 100 && entity.page <= 999));
    const bearers = Object.values(Object.groupBy(world.entities, (entity) => entity.name)).map((group) => group!);
    assert.ok(bearers.some((group) => group.length === 2));
    assert.ok(bearers.some((group) => group.length === 3));
    assert.ok(bearers.every((group) => new Set(group.map((entity) => entity.kind)).size === group.length));
    const lastNames = world.entities.filter((one) => one.kind === "person").map((one) => one.name.split(" ")[1]);
    assert.ok(new Set(lastNames).size < lastNames.length);
  });

  it("keeps the numbers of the splits apart", () => {
    for (const split of ["train", "test"] as const) {
      for (const entity of createWorld({ seed: 2, split, pages: 300 }).entities) {
        for (const fact of entity.facts) if (!fact.to) assert.equal(numberSplit(Number(fact.value)), split);
      }
    }
  });

  it("refuses seeds and sizes it has no names for", () => {
    assert.throws(() => createWorld({ seed: seedCount }), /seed is a whole number/);
    assert.throws(() => createWorld({ seed: 1, pages: 3 }), /20 to 90000 pages/);
  });

  it("makes large worlds too", () => {
    const world = createWorld({ seed: 11, pages: 5_000 });
    assert.equal(world.byPage.size, 5_000);
    assert.equal(Math.max(...world.byPage.keys()) < 10_000, true);
  });
});

describe("pages", () => {
  it("state every fact in a phrasing that can be read back", () => {
    const world = createWorld({ seed: 12, pages: 400 });
    const used = new Set<string>();
    for (const entity of world.entities) {
      const text = pageSentences(world, entity).join(" ");
      assert.equal(statedKind(text)?.subject, entity.name);
      assert.equal(statedKind(text)?.kind, entity.kind);
      for (const fact of entity.facts) {
        const relation = relationNamed(fact.relation)!;
        assert.equal(statedValue(text, relation), fact.value, `${fact.relation} in: ${text}`);
        for (const phrasing of relation.phrasings)
          if (text.includes(phrasing.replace("{}", fact.value))) used.add(phrasing);
      }
    }
    assert.equal(used.size, 36);
  });

  it("are the same over HTTP and from memory", async () => {
    const world = createWorld({ seed: 12, pages: 40 });
    const served = await serveWorld(world);
    let requests = 0;
    const overHttp = servedFetch(served.base, async (url) => {
      requests++;
      const response = await fetch(url);
      const body = new Uint8Array(await response.arrayBuffer());
      return {
        url,
        status: response.status,
        contentType: response.headers.get("content-type")!,
        body,
        truncated: false,
      };
    });
    const fromMemory = memoryFetch(world);
    const { signal } = new AbortController();
    try {
      for (const entity of world.entities) {
        const url = pageUrl(entity.page);
        assert.deepEqual(await overHttp(url, { signal }), await fromMemory(url, { signal }));
      }
      assert.equal((await overHttp(`${labBase}/99`, { signal })).status, 404);
      assert.equal((await fromMemory(`${labBase}/99`, { signal })).status, 404);
      assert.equal(requests, 41);
      assert.match(await (await fetch(served.base)).text(), /everything here is made up/);
      assert.equal(htmlAt(world, "/../etc/passwd"), null);
    } finally {
      await served.close();
    }
  });
});

describe("worldTasks", () => {
  it("makes balanced families without repeating a question", () => {
    const tasks = worldTasks(createWorld({ seed: 1, pages: 300 }), { count: 250 });
    const counts = Object.entries(Object.groupBy(tasks, (task) => task.family!)).map(([name, group]) => [
      name,
      group!.length,
    ]);
    assert.deepEqual(Object.fromEntries(counts), Object.fromEntries(families.map((family) => [family, 50])));
    const asked = tasks.map((task) => task.question.replace(/^(?:What is|Tell me|Find) /, "").slice(0, -1));
    assert.equal(new Set(asked).size, 250);
    assert.equal(new Set(tasks.map((task) => task.id)).size, 250);
  });

  it("has right answers, found by walking the world another way", () => {
    const world = createWorld({ seed: 21, pages: 300, split: "test" });
    for (const task of worldTasks(world, { count: 300 })) {
      const phrase = task.question.replace(/^(?:What is|Tell me|Find) /, "").slice(0, -1);
      assert.ok(candidates(world, phrase).has(task.answers[0]!), `${task.question} -> ${task.answers[0]}`);
      assert.equal(candidates(world, phrase).size, 1, task.question);
    }
  });

  it("holds no number in a test question that training questions hold", () => {
    const numbers = (split: "train" | "test") =>
      worldTasks(createWorld({ seed: 1, pages: 300, split }), { count: 200, families: ["arith"] }).flatMap(
        (task) => task.question.match(/\d+/g) ?? [],
      );
    const training = new Set(numbers("train"));
    assert.ok(numbers("test").every((number) => !training.has(number)));
  });

  it("says so when a world has not enough questions", () => {
    const world = createWorld({ seed: 1, pages: 20 });
    assert.throws(() => worldTasks(world, { count: 5_000, families: ["hop1"] }), /only \d+ different questions/);
    assert.throws(() => worldTasks(world, { count: 1, families: ["hop9" as never] }), /no task family "hop9"/);
  });
});

/** All answers that a phrase can have: every thing of a name is tried, and those without the relation fall away. */
function candidates(world: World, phrase: string): Set<string> {
  if (/^[\d(]|^the (?:sum|difference) of \d/.test(phrase)) {
    const grouped = phrase.replace(/^the sum of (\d+) and (\d+),/, "($1 plus $2)");
    const written = grouped.replace(/^the difference of (\d+) and (\d+),/, "($1 minus $2)");
    const expression = written.replaceAll("plus", "+").replaceAll("minus", "-").replaceAll("times", "*");
    return new Set([String(new Function(`return ${expression}`)())]);
  }
  const two = /^(.+) (plus|minus) (.+)$/.exec(phrase);
  if (two) {
    const [first] = candidates(world, two[1]!);
    const [second] = candidates(world, two[3]!);
    return new Set([String(Number(first) + (two[2] === "plus" ? 1 : -1) * Number(second))]);
  }
  const step = /^the (founding year|[a-z]+) of (.+)$/.exec(phrase);
  const named = /^(?:the (city|company) )?([A-Z].*)$/.exec(step?.[2] ?? "");
  const relation = step?.[1];
  const inner = named ? null : things(world, step![2]!);
  const subjects =
    inner ?? world.entities.filter((one) => one.name === named![2] && (!named![1] || one.kind === named![1]));
  return new Set(
    subjects.flatMap((one) => one.facts.filter((fact) => fact.relation === relation).map((fact) => fact.value)),
  );
}

function things(world: World, phrase: string): World["entities"][number][] {
  const step = /^the ([a-z]+) of (.+)$/.exec(phrase)!;
  const inner = step[2]!.startsWith("the ")
    ? things(world, step[2]!)
    : world.entities.filter((one) => one.name === step[2]);
  return inner.flatMap((one) => one.facts.filter((fact) => fact.relation === step[1]).flatMap((fact) => fact.to ?? []));
}
