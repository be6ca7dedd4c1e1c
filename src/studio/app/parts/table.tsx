/** Rows of cells under a head; the first cell names its row. */
import type { ComponentChildren } from "preact";

interface Props {
  class?: string;
  head: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
}

export function Table({ class: name, head, rows }: Props) {
  return (
    <table class={name}>
      <thead>
        <tr>
          {head.map((title) => (
            <th scope="col">{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first, ...cells]) => (
          <tr>
            <th scope="row">{first}</th>
            {cells.map((cell) => (
              <td>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
