// Where a map stands, and what it is drawn of.

export interface Spot {
  latitude: number;
  longitude: number;
}

// spotOf is a place on earth, where both numbers are of one.
export function spotOf(latitude: number | undefined, longitude: number | undefined): Spot | undefined {
  if (latitude === undefined || longitude === undefined) return undefined;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : undefined;
}

export interface Tiles {
  url: string;
  by: string; // whom they are of
}

// tilesOf reads the setting: an address with {z}, {x} and {y} in it, and after a
// space whom the map is of.
export function tilesOf(setting: string): Tiles | undefined {
  const [url = '', ...words] = setting.trim().split(/\s+/);
  if (!/^https?:\/\//.test(url) || !['{z}', '{x}', '{y}'].every((p) => url.includes(p))) return undefined;
  return { url, by: words.join(' ') || `map by ${new URL(url).host}` };
}

const closest = 19;
const coarsest = 6; // below which outlines of countries are no map any more

// zoomOf is how near a map begins. Outlines alone tell where a place is only
// from afar.
export const mostZoom = (tiles: Tiles | undefined) => (tiles ? closest : coarsest);
export const zoomOf = (asked: number | undefined, tiles: Tiles | undefined) =>
  Math.max(1, Math.min(Math.round(asked ?? 15), mostZoom(tiles)));
