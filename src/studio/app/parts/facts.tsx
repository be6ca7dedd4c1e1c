/** Figures in a row, each with its word. */
export function Facts({ facts }: { facts: readonly (readonly [value: string, name: string])[] }) {
  return (
    <dl class="facts flex">
      {facts.map(([value, name]) => (
        <div>
          <dd>{value}</dd> <dt class="small">{name}</dt>
        </div>
      ))}
    </dl>
  );
}
