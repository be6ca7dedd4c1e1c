import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { openAt } from "../../../../test/studio/address-bar.ts";

describe("the pages of a list", () => {
  let itemPages: typeof import("./item-pages.ts").itemPages;
  before(async () => {
    openAt("#/");
    Object.assign(globalThis, { localStorage: { getItem: () => null } });
    ({ itemPages } = await import("./item-pages.ts"));
  });

  /** A list of so many rows, with the offsets that were asked for; `settled` when all answers are there. */
  function list(size: { total: number }, fail?: string) {
    const asked: number[] = [];
    const answers: Promise<unknown>[] = [];
    const pages = itemPages(
      (offset, limit) => {
        asked.push(offset);
        const rows = Array.from({ length: Math.min(limit, size.total - offset) }, (_, index) => ({
          id: offset + index,
        }));
        const answer = fail
          ? Promise.reject(new Error(fail))
          : Promise.resolve({ rows: rows as never, total: size.total });
        answers.push(answer.catch(() => {}));
        return answer;
      },
      () => {},
    );
    const settled = async () => {
      await Promise.all(answers);
      await null;
    };
    return { pages, asked, settled };
  }

  it("are asked for once each, half a page ahead, and never beyond the end", async () => {
    const { pages, asked, settled } = list({ total: 350 });
    assert.equal(pages.total, undefined);
    pages.want(0, 20);
    assert.deepEqual(asked, [0], "how many there are is not known yet");
    await settled();
    assert.equal(pages.total, 350);
    pages.want(0, 60);
    pages.want(10, 70);
    assert.deepEqual(asked, [0, 100]);
    pages.want(320, 349);
    assert.deepEqual(asked, [0, 100, 200, 300]);
    await settled();
    assert.equal(pages.row(349)?.id, 349);
    assert.equal(pages.row(350), undefined);
  });

  it("are asked for again where people look, with the old rows in place until then", async () => {
    const { pages, asked, settled } = list({ total: 1_000 });
    pages.want(0, 0);
    await settled();
    pages.want(500, 520);
    await settled();
    asked.length = 0;
    pages.refresh();
    assert.deepEqual(asked, [400, 500]);
    assert.equal(pages.row(510)?.id, 510);
  });

  it("come into an empty list once there are rows", async () => {
    const size = { total: 0 };
    const { pages, settled } = list(size);
    pages.want(0, 0);
    await settled();
    assert.equal(pages.total, 0);
    size.total = 2;
    pages.refresh();
    await settled();
    assert.equal(pages.row(1)?.id, 1);
  });

  it("say why they can't be had", async () => {
    const { pages, settled } = list({ total: 1 }, "the index is gone");
    pages.want(0, 0);
    await settled();
    assert.equal(pages.error, "the index is gone");
  });
});
