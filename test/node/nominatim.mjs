// For `node --import`, before @modelcontextprotocol/server-map: it sends what the
// server asks of Nominatim, whose address it has built in, to NOMINATIM instead,
// and has it listen on loopback alone.
import net from 'node:net';

const real = 'https://nominatim.openstreetmap.org/';
const there = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = String(input?.url ?? input);
  if (!url.startsWith(real)) throw new Error(`nobody but the stand-in is asked here: ${url}`);
  return there(new URL(url.slice(real.length), process.env.NOMINATIM), init);
};

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { port, host: '127.0.0.1' }, ...rest.filter((r) => typeof r === 'function'));
};
