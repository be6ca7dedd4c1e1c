/** What was opened: stages, how they follow from each other, files, and what runs now. */

import { count } from "../../../report/format-figures.ts";
import type { OverviewView } from "../../api/overview-reader.ts";
import { Chip } from "../parts/chip.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { useResource } from "../server.ts";

export function OverviewScreen(_: { params: Record<string, string> }) {
  const { data, error } = useResource<OverviewView>("overview", (event) => event.type !== "progress");
  if (error && !data) return <Problem title="The overview can't be shown" detail={error} />;
  if (!data) return <Loading what="the overview" />;
  return (
    <article>
      <h1>Overview</h1>
      <p class="soft">{data.root}</p>
      <table>
        <thead>
          <tr>
            <th>file</th>
            <th>kind</th>
            <th>lines</th>
          </tr>
        </thead>
        <tbody>
          {data.files.map((file) => (
            <tr>
              <td>{file.path}</td>
              <td>
                <Chip text={file.kind} />
              </td>
              <td>{count(file.lines)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </article>
  );
}
