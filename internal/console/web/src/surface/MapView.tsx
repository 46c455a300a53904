import 'leaflet/dist/leaflet.css';
import L from 'leaflet';
import { useEffect, useRef } from 'react';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import outlines from 'world-atlas/countries-50m.json?url';
import { asNumber } from './data';
import { mostZoom, spotOf, tilesOf, zoomOf } from './place';
import { type Place, useProps } from './stage';

// MapView is a place on a map. The map is the outlines of the world, which the
// console brings along; where the instance names a source of tiles, these.
export default function MapView({ b }: Place) {
  const { text, value } = useProps(b);
  const spot = spotOf(asNumber(value('latitude')), asNumber(value('longitude')));
  const label = text('label');
  if (!spot) return <p className="small soft">This place has no valid coordinates.</p>;
  return <Drawn latitude={spot.latitude} longitude={spot.longitude} label={label} zoom={asNumber(value('zoom'))} />;
}

const setting = () => tilesOf(document.querySelector<HTMLMetaElement>('meta[name="map-tiles"]')?.content ?? '');

// The outlines are read once for all maps.
let world: Promise<GeoJSON.FeatureCollection> | undefined;
function readWorld() {
  world ??= fetch(outlines)
    .then((r) => r.json() as Promise<Topology<{ countries: GeometryCollection }>>)
    .then((t) => feature(t, t.objects.countries));
  world.catch(() => {
    world = undefined; // the next map tries again
  });
  return world;
}

interface Shown {
  latitude: number;
  longitude: number;
  label: string;
  zoom: number | undefined;
}

function Drawn({ latitude, longitude, label, zoom }: Shown) {
  const box = useRef<HTMLDivElement>(null);
  const held = useRef<{ map: L.Map; marker: L.Marker }>(undefined);

  useEffect(() => {
    if (!box.current) return;
    const tiles = setting();
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const map = L.map(box.current, {
      attributionControl: false,
      scrollWheelZoom: false, // the conversation scrolls
      dragging: !matchMedia('(pointer: coarse)').matches,
      zoomAnimation: !still,
      fadeAnimation: !still,
      markerZoomAnimation: !still,
      maxZoom: mostZoom(tiles),
      minZoom: 1,
    });
    const marker = L.marker([0, 0], { icon: pin(), interactive: false, keyboard: false });
    held.current = { map, marker };
    let over = false;
    if (tiles) {
      // Sources such as OpenStreetMap answer only who says from which site they are asked.
      L.tileLayer(tiles.url, { maxZoom: mostZoom(tiles), referrerPolicy: 'strict-origin' }).addTo(map);
      const by = document.createElement('span');
      by.textContent = tiles.by;
      L.control.attribution({ prefix: false }).addAttribution(escaped(by)).addTo(map);
    } else {
      readWorld().then(
        (countries) => {
          if (!over) L.geoJSON(countries, { interactive: false, style: { className: 'sf-country', weight: 1 } }).addTo(map);
        },
        () => undefined, // the marker and its coordinates are there without
      );
    }
    L.control.scale({ imperial: false }).addTo(map);
    const sized = new ResizeObserver(() => map.invalidateSize({ animate: false }));
    sized.observe(box.current);
    return () => {
      over = true;
      sized.disconnect();
      held.current = undefined;
      map.remove();
    };
  }, []);

  useEffect(() => {
    if (!held.current) return;
    const { map, marker } = held.current;
    const at = L.latLng(latitude, longitude);
    map.setView(at, zoomOf(zoom, setting()), { animate: false });
    marker.setLatLng(at).addTo(map);
    const words = document.createElement('span');
    words.textContent = label; // a string would be read as HTML
    marker.unbindTooltip();
    if (label) marker.bindTooltip(words, { permanent: true, direction: 'top', offset: [0, -30], className: 'sf-pin-label' });
    const now = marker.getLatLng();
    const el = marker.getElement();
    el?.setAttribute('data-latitude', String(now.lat));
    el?.setAttribute('data-longitude', String(now.lng));
    el?.setAttribute('data-label', label);
  }, [latitude, longitude, label, zoom]);

  return (
    <figure className="sf-map">
      <div className="sf-map-box" ref={box} role="application" aria-label={`Map: ${label || `${latitude}, ${longitude}`}`} />
      <figcaption>
        {label && <b>{label}</b>}
        <span className="soft small num">
          {latitude}, {longitude}
        </span>
        {!setting() && <span className="sf-map-note tiny soft">Country outlines only. For streets, the operator sets --map-tiles.</span>}
      </figcaption>
    </figure>
  );
}

const escaped = (el: HTMLElement) => el.innerHTML;

// pin is the marker, drawn by styles.
const pin = () => L.divIcon({ className: 'sf-pin', iconSize: [24, 32], iconAnchor: [12, 31] });
