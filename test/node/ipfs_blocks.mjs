// Encodes files for IPFS with an implementation that is not Junctor's:
//   node ipfs_blocks.mjs SHAPE BASE64
// writes {"root": CID, "blocks": {CID: base64}}. SHAPE is raw (one block), pb (a
// file of several dag-pb leaves, CIDv0) or tree (several raw leaves below a root).
import { MemoryBlockstore } from 'blockstore-core';
import { importer } from 'ipfs-unixfs-importer';
import { fixedSize } from 'ipfs-unixfs-importer/chunker';

const shapes = {
  raw: { cidVersion: 1, rawLeaves: true, reduceSingleLeafToSelf: true },
  pb: { cidVersion: 0, rawLeaves: false, reduceSingleLeafToSelf: false, chunker: fixedSize({ chunkSize: 64 }) },
  tree: { cidVersion: 1, rawLeaves: true, chunker: fixedSize({ chunkSize: 64 }) },
};
const options = shapes[process.argv[2]];
if (!options) throw new Error(`no shape ${process.argv[2]}`);

const store = new MemoryBlockstore();
let root;
for await (const entry of importer([{ content: Buffer.from(process.argv[3], 'base64') }], store, options)) root = entry.cid;

const bytes = async (b) => {
  if (b instanceof Uint8Array) return b;
  const parts = [];
  for await (const p of b) parts.push(p.subarray ? p.subarray() : p);
  return Buffer.concat(parts);
};
const blocks = {};
for await (const one of store.getAll()) {
  const data = await bytes(one.bytes ?? one.block);
  // The store knows blocks by their hash alone, so these are all named as raw.
  blocks[one.cid.toString()] = Buffer.from(data).toString('base64');
}
console.log(JSON.stringify({ root: root.toString(), blocks }));
