/**
 * Attempts to make the crawler reach a server inside. The server listens on every local address and counts connections:
 * refusing with the right words is not enough, nothing may arrive.
 */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { after, before, describe, it } from "node:test";
import { pageFetcher } from "./fetch-page.ts";
import { isPublicAddress } from "./host-policy.ts";

let inside: Server;
let port = 0;
let connections = 0;
let outside: Server;
let outsidePort = 0;
/** What the allowed server answers with: where to go next. */
let redirectTo = "";

before(async () => {
  inside = createServer((_request, response) => response.end("secret"));
  inside.on("connection", () => connections++);
  await new Promise<void>((resolve) => inside.listen(0, "::", resolve));
  port = (inside.address() as AddressInfo).port;
  outside = createServer((_request, response) => {
    response.writeHead(302, { location: redirectTo }).end();
  });
  await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve));
  outsidePort = (outside.address() as AddressInfo).port;
});

after(() => {
  inside.closeAllConnections();
  inside.close();
  outside.closeAllConnections();
  outside.close();
});

/** Every way we know to write an address of this machine or of its neighbourhood. */
function forms(): string[] {
  const hosts = [
    "127.0.0.1", "127.1", "127.0.1", "127.0.0.2", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1",
    "0177.0.0.1", "017700000001", "0000127.0.0.1", "0", "0.0.0.0", "0x0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[0000::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2001:0:7f00:1::]", "[fe80::1]", "[fd00::1]", "[fec0::1]", "[ff02::1]", "[100::1]", "localhost", "localhost.",
    "LOCALHOST", "LocalHost", "sub.localhost", "localhost.localdomain", "ip6-localhost", "①②⑦.⓪.⓪.①", "127。0。0。1",
    "１２７.0.0.1", "127%2E0%2E0%2E1", "example.com@127.0.0.1", "user:password@localhost", "169.254.169.254",
    "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "metadata.google.internal", "metadata", "100.100.100.200",
    "168.63.129.16", "[64:ff9b::168.63.129.16]", "[2002:a83f:8110::1]", "[::ffff:168.63.129.16]", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "198.18.0.1",
    "192.0.2.1", "224.0.0.1", "255.255.255.255", "printer.local", "kubernetes.default.svc.cluster.local",
    hostname(), `${hostname()}.local`,
  ]; // biome-ignore format: a list
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address, family } of addresses ?? [])
      hosts.push(family === "IPv6" ? `[${address.split("%")[0]}]` : address);
  }
  return [...new Set(hosts)].map((host) => `http://${host}:${port}/`);
}

const schemes = () => ["file:///etc/passwd", `ftp://127.0.0.1:${port}/`, `gopher://127.0.0.1:${port}/_x`, "data:text/html,x",
  `ws://127.0.0.1:${port}/`, `javascript:fetch("http://127.0.0.1:${port}")`, "http://", `//127.0.0.1:${port}/`, ""]; // biome-ignore format: a list

async function assertRefused(fetch: Promise<unknown>, what: string): Promise<void> {
  await assert.rejects(
    fetch,
    /not a public|private host|only http|not an address|no host|can't be|ENOTFOUND|EAI_AGAIN|could not|no address/,
    what,
  );
  assert.equal(connections, 0, `${what} reached the server`);
}

const signal = new AbortController().signal;

describe("requests to private places", () => {
  it("are refused however the address is written, and no connection is made", async () => {
    const { fetchPage, close } = pageFetcher({ retries: 0 });
    const all = [...forms(), ...schemes(), `https://127.0.0.1:${port}/`];
    assert.ok(all.length >= 60);
    for (const url of all) await assertRefused(fetchPage(url, { signal }), url);
    await close();
  });

  it("are refused when a redirect leads there", async () => {
    const { fetchPage, close } = pageFetcher({ retries: 0, allowHosts: [`127.0.0.1:${outsidePort}`] });
    for (const url of [...forms(), ...schemes().filter((scheme) => scheme !== "")]) {
      redirectTo = url.startsWith("//")
        ? url
        : encodeURI(url).replaceAll("%25", "%").replace(/%5B/g, "[").replace(/%5D/g, "]");
      await assertRefused(fetchPage(`http://127.0.0.1:${outsidePort}/`, { signal }), `redirect to ${redirectTo}`);
    }
    await close();
  });

  it("are refused when a name resolves there, alone or among public addresses", async () => {
    for (const addresses of [
      ["127.0.0.1"],
      ["::1"],
      ["93.184.215.14", "127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["10.1.2.3"],
      ["0.0.0.0"],
    ]) {
      const resolve = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      const { fetchPage, close } = pageFetcher({ retries: 0, resolve });
      await assertRefused(fetchPage(`http://harmless.example.com:${port}/`, { signal }), addresses.join(","));
      await assertRefused(fetchPage(`https://harmless.example.com:${port}/`, { signal }), addresses.join(","));
      await close();
    }
  });

  const oneLoopback = process.platform === "linux" ? false : "only Linux answers on 127.0.0.2";
  it("gain nothing from a name that resolves differently the second time", { skip: oneLoopback }, async () => {
    // 127.0.0.2 plays the public address here; the server that listens only there counts for itself.
    let good = 0;
    const server = createServer((_request, response) => response.writeHead(200, { connection: "close" }).end("public"));
    server.on("connection", () => good++);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
    const goodPort = (server.address() as AddressInfo).port;
    let lookups = 0;
    const { fetchPage, close } = pageFetcher({
      retries: 0,
      isAllowedAddress: (address) => address === "127.0.0.2",
      resolve: async () => [{ address: lookups++ === 0 ? "127.0.0.2" : "127.0.0.1", family: 4 }],
    });
    const page = await fetchPage(`http://rebind.example.com:${goodPort}/`, { signal });
    assert.equal(Buffer.from(page.body).toString(), "public");
    assert.deepEqual([lookups, good], [1, 1], "one look-up, and the connection went to what was looked up");
    for (let round = 0; round < 3; round++) {
      await assertRefused(fetchPage(`http://rebind.example.com:${port}/`, { signal }), "second look-up");
    }
    await close();
    server.closeAllConnections();
    server.close();
  });

  it("are made where the user allows exactly that host and port", async () => {
    const { fetchPage, close } = pageFetcher({ retries: 0, allowHosts: [`127.0.0.1:${port}`] });
    const page = await fetchPage(`http://127.0.0.1:${port}/`, { signal });
    assert.equal(Buffer.from(page.body).toString(), "secret");
    assert.equal(connections, 1);
    connections = 0;
    await assertRefused(fetchPage(`http://127.0.0.1:${outsidePort}/`, { signal }), "another port");
    await assertRefused(fetchPage(`http://127.0.0.2:${port}/`, { signal }), "another address");
    await close();
  });
});

describe("isPublicAddress", () => {
  it("knows public addresses from all others", () => {
    for (const address of [
      "8.8.8.8",
      "1.1.1.1",
      "93.184.215.14",
      "2606:4700::1111",
      "2001:4860:4860::8888",
      "172.32.0.1",
      "64:ff9b::8.8.8.8",
    ])
      assert.equal(isPublicAddress(address), true, address);
    for (const address of [
      "",
      "x",
      "1.2.3",
      "fe80::1%eth0",
      "::",
      "2001:db8::1",
      "3fff::1",
      "5f00::1",
      "255.255.255.255",
      "2002:a00:1::1",
    ])
      assert.equal(isPublicAddress(address), false, address);
  });
});
