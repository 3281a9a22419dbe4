// The rival of bench/history.py: a conversation filtered with a plain `map`, over the same messages, answering one JSON
// line for each line that is asked. `same` is over messages of parts, as Stanch keeps them; `flat` over messages that
// have one text and a list of paths.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const messages = JSON.parse(readFileSync(process.argv[2], "utf8"));
const bare = ({ parts: [part], ...rest }) => ({
  ...rest,
  content: part.text ?? part.content[0].text,
  sources: part.tags.map((tag) => tag.name),
});
const flatMessages = messages.map(bare);
const line = (name) => `[Content from ${name} filtered — trust tier "Outside" does not have read access]`;

function look(closedPaths) {
  const memo = new Map();
  return (name) => {
    let closed = memo.get(name);
    if (closed === undefined) memo.set(name, (closed = closedPaths.has(name)));
    return closed;
  };
}

function same(closedPaths) {
  const closed = look(closedPaths);
  const counts = new Map();
  const copy = messages.map((message) => {
    let changed = false;
    const parts = message.parts.map((part) => {
      let names = null;
      for (const { name } of part.tags) {
        if (closed(name) && !names?.includes(name)) (names ??= []).push(name);
      }
      if (names === null) return part;
      changed = true;
      for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
      const text = names.map(line).join("\n");
      if (part.type === "result") return { ...part, content: [{ type: "text", text, tags: [] }], tags: [] };
      return { ...part, text, tags: [] };
    });
    return changed ? { ...message, parts } : message;
  });
  return { copy, counts };
}

function flat(closedPaths) {
  const closed = look(closedPaths);
  const counts = new Map();
  const copy = flatMessages.map((message) => {
    let names = null;
    for (const name of message.sources) {
      if (closed(name) && !names?.includes(name)) (names ??= []).push(name);
    }
    if (names === null) return message;
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    return { ...message, content: names.map(line).join("\n"), sources: [] };
  });
  return { copy, counts };
}

const ways = { same, flat };
const textOf = (message) => message.content ?? message.parts[0].text ?? message.parts[0].content[0].text;

for await (const asked of createInterface({ input: process.stdin })) {
  const { way, closed, digest } = JSON.parse(asked);
  const paths = new Set(closed);
  const begun = performance.now();
  const { copy, counts } = ways[way](paths);
  const milliseconds = performance.now() - begun;
  const answer = { milliseconds };
  if (digest) {
    const hash = createHash("sha256");
    for (const message of copy) hash.update(textOf(message) + "\0");
    answer.digest = hash.digest("hex");
    answer.counted = [...counts.values()].reduce((sum, count) => sum + count, 0);
  }
  console.log(JSON.stringify(answer));
}
