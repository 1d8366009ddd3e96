// Run operations of AgentOS on a brain: `node agentos.mjs PACKAGES BRAIN < operations.json`.
// Each operation is [name, arguments]; the results are printed as one JSON list.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, path] = process.argv.slice(2);
const installed = createRequire(pathToFileURL(`${packages}/`));
const { Memory } = await import(pathToFileURL(installed.resolve('@framers/agentos/memory')));
const memory = await Memory.create(path, { embeddings: { dimensions: 4 }, embed: async (text) => vector(text) });

function vector(text) {
  return [1, 3, 5, 7].map((step) => (text.length % step) / 8);
}

async function use(tool, args) {
  const result = await memory.createTools().find((one) => one.name === tool).execute(args);
  if (!result.success) throw new Error(result.error);
  return result.output;
}

const operations = {
  remember: async ({ content, ...options }) => (await memory.remember(content, options)).id,
  update: (args) => use('memory_update', args),
  forget: ({ traceId }) => memory.forget(traceId),
  recall: async ({ query }) => (await memory.recall(query)).map(({ trace }) => trace.content),
  feedback: ({ traceId, signal }) => memory.feedback(traceId, signal),
  entity: async (args) => (await memory.addEntity(args)).id,
  relation: async (args) => (await memory.addRelation(args)).id,
  ingest: ({ path }) => memory.ingest(path),
  export: ({ path, format }) => memory.export(path, { format, includeEmbeddings: true }),
  import: ({ path, format }) => memory.importFrom(path, { format }),
  view: async () => JSON.parse(await memory.exportToString({ includeEmbeddings: true })),
};

const results = [];
for (const [name, args] of JSON.parse(readFileSync(0, 'utf8'))) results.push((await operations[name](args)) ?? null);
await memory.close();
process.stdout.write(JSON.stringify(results));
