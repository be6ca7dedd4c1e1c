/** What the colours of tokens mean, with the values of a few shades. */
import { classOfShade, colouringOf, type FigureName } from "./token-figures.ts";

export function TokenLegend({ name }: { name: FigureName }) {
  const { means, scale, perShade, text } = colouringOf(name);
  return (
    <p class="token-legend soft">
      <span class="token-scale">
        {scale.map((shade) => (
          <span class={classOfShade(shade)}>{text(shade * perShade)}</span>
        ))}
      </span>
      {means}
    </p>
  );
}
