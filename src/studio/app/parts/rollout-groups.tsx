/** What a step of RL sampled, task by task; or one task through the steps. Each answer opens as a chain. */
import { count, signed } from "../../../report/format-figures.ts";
import type { RolloutGroup, RolloutView, StepRollouts } from "../../api/training-readers.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";
import { Button } from "./button.tsx";
import { Chip } from "./chip.tsx";
import { cursor } from "./cursor.ts";
import { Problem } from "./states.tsx";

export function RolloutGroups({ folder, step }: { folder: string; step: number }) {
  const { query } = place.value;
  const task = query.get("task");
  // Figures are numbered from 1, when a step has ended; what it sampled is numbered from 0, when it began.
  const asked = new URLSearchParams({ folder, ...(task === null ? { step: String(step - 1) } : { task }) });
  const { data, error } = useResource<StepRollouts>(`rollouts?${asked}`, {
    live: ({ type }) => type === "idle",
  });
  const groups = data?.groups ?? [];
  const { at, move } = cursor("group", groups.length);
  useKeys([
    ...stepKeys("j", "k", task === null ? "task of the step" : "step of the task", move),
    {
      keys: "enter",
      does: task === null ? "This task through the steps" : "The step of this group",
      run: () => groups[at] && setQuery(otherWay(groups[at], task)),
    },
  ]);
  if (error && !data) return <Problem title="The rollouts can't be shown" detail={error} />;
  if (!data || (groups.length === 0 && task === null)) return null;
  const title = task === null ? `Rollouts of step ${step}` : "One task through the steps";
  return (
    <section class="rollout-groups" aria-label={title}>
      <h2>
        {title}{" "}
        <span class="soft">{task === null ? `${groups.length} tasks` : <bdi>{groups[0]?.question || task}</bdi>}</span>{" "}
        {task !== null && (
          <Button
            text={`all tasks of step ${step}`}
            quiet
            onClick={() => setQuery({ task: undefined, group: undefined })}
          />
        )}
      </h2>
      {groups.length === 0 && <p class="soft">No step has sampled this task.</p>}
      <ul class="plain">
        {groups.map((group, index) => (
          <li class={`cells${index === at ? " selected" : ""}`} aria-current={index === at ? "true" : undefined}>
            <Group group={group} task={task} file={data.file} />
          </li>
        ))}
      </ul>
      {data.more > 0 && <p class="not-loaded">more rollouts than {count(groups.length)} groups hold are not loaded</p>}
    </section>
  );
}

/** From a step's tasks to a task's steps, and back. */
function otherWay(group: RolloutGroup, task: string | null) {
  return task === null
    ? { task: group.task, group: undefined }
    : { task: undefined, group: undefined, step: group.step + 1 };
}

function Group({ group, task, file }: { group: RolloutGroup; task: string | null; file?: string }) {
  const { question, rollouts, baseline, dropped, step } = group;
  return (
    <>
      <button type="button" class="group-name bare one-line" onClick={() => setQuery(otherWay(group, task))}>
        <bdi class="one-line">{task === null ? question || group.task : `step ${step + 1}`}</bdi>
      </button>
      <span class="chips">
        {rollouts.map((rollout) => (
          <Rollout rollout={rollout} file={file} />
        ))}
      </span>
      <span class="group-figures chips soft small">
        {baseline !== undefined && `baseline ${Number(baseline.toFixed(3))}`}
        {dropped !== undefined && <Chip text={`not used: ${dropped}`} hue="amber" />}
        <a href={href(`/compare/${pathPart(group.task)}`)}>compare</a>
      </span>
    </>
  );
}

function Rollout({ rollout, file }: { rollout: RolloutView; file?: string }) {
  const { key, reward, ending, billed, advantage, clippedTokens } = rollout;
  const facts = [
    ending,
    `${count(billed)} tokens billed`,
    advantage === undefined ? "not part of an update" : `advantage ${signed(advantage)}`,
    clippedTokens ? `${clippedTokens} tokens clipped` : "",
  ].filter(Boolean);
  return (
    <a
      class={`rollout tint tiny hue-${reward === null ? "none" : reward > 0 ? "green" : "rose"}`}
      href={href(`/chains/${pathPart(key)}`, { in: file })}
      title={`${key}: ${facts.join(", ")}`}
    >
      <b>{reward === null ? "?" : Number(reward.toFixed(2))}</b>{" "}
      {advantage !== undefined && <small>{signed(advantage)}</small>}
    </a>
  );
}
