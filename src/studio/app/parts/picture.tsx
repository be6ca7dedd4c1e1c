/**
 * A picture that `report/` drew, as SVG text: parsed as XML and taken over without scripts, handlers or links, so that the
 * static reports and the studio show the same drawing.
 */
import { useLayoutEffect, useRef } from "preact/hooks";

const allowed = /^(?:svg|g|path|rect|line|circle|text|tspan|title|polyline|polygon)$/;

export function Picture({ svg }: { svg: string }) {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const parsed = new DOMParser().parseFromString(
      svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '),
      "image/svg+xml",
    );
    for (const element of [...parsed.querySelectorAll("*")]) {
      if (!allowed.test(element.localName)) element.remove();
      for (const { name } of [...element.attributes]) if (/^on|href|^style$/i.test(name)) element.removeAttribute(name);
    }
    root.current!.replaceChildren(document.importNode(parsed.documentElement, true));
  }, [svg]);
  return <div class="picture" ref={root} />;
}
