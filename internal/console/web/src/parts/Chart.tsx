import { FileDown, ImageDown, Table } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useCallback, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type ChartData, isEmpty, toCSV } from './chartData';
import { Panel, Scroll } from './elements';
import { absolute, count } from './format';
import { LazyMenu } from './LazyMenu';
import { save } from './save';
import { ErrorCard } from './states';

const Plot = lazy(() => import('./Plot'));

export interface ChartProps {
  title: string;
  note?: ReactNode; // below the title
  // What the legend has of the whole range: sums, or the largest values.
  legend?: 'sum' | 'most';
  // The chart's numbers; undefined while they are loading.
  data: ChartData | undefined;
  error?: unknown;
  retry?: () => void;
  kind: 'bars' | 'lines';
  height?: number;
  format?: (n: number) => string;
  axis?: (n: number) => string; // how the axis writes values, if not as format
  empty: ReactNode;
  // Sets the range, when part of the chart is dragged over.
  zoom?: (from: number, to: number) => void;
  // The address of what a step has, when it is selected.
  href?: (from: number, to: number) => string;
}

// Chart shows numbers over time: drawn, or as a table, which also can be read without seeing
// the drawing and used without a pointer.
export function Chart({
  title,
  note,
  legend = 'sum',
  data,
  error,
  retry,
  kind,
  height = 180,
  format = count,
  axis = format,
  empty,
  zoom,
  href,
}: ChartProps) {
  const [, navigate] = useLocation();
  const [table, setTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const figure = useRef<HTMLElement>(null);
  const open = useCallback(
    (i: number) => {
      const from = data?.times[i];
      if (from !== undefined && href) navigate(href(from, from + (data?.step ?? 0)));
    },
    [data, href, navigate],
  );
  const none = data && isEmpty(data);
  const file = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${new Date(data?.from ?? 0).toISOString().slice(0, 16).replaceAll(':', '')}`;
  return (
    <Panel
      title={title}
      acts={
        data &&
        !none && (
          <LazyMenu
            label={`${title}: more`}
            items={[
              { name: table ? 'Show as chart' : 'Show as table', icon: <Table size={14} />, run: () => setTable(!table) },
              { name: 'Download CSV', icon: <FileDown size={14} />, run: () => save(`${file}.csv`, toCSV(data), 'text/csv') },
              ...(table
                ? []
                : [
                    {
                      name: 'Download PNG',
                      icon: <ImageDown size={14} />,
                      run: () => {
                        if (canvas.current && figure.current) savePicture(`${file}.png`, title, data, canvas.current, figure.current);
                      },
                    },
                  ]),
            ]}
          />
        )
      }
    >
      {error && !data ? (
        <div className="pad">
          <ErrorCard error={error} {...(retry ? { retry } : {})} />
        </div>
      ) : !data ? (
        <div className="pad" role="status" aria-label={`Loading ${title}`}>
          <div className="bone" style={{ height: height + 24 }} />
        </div>
      ) : none ? (
        empty
      ) : (
        <figure className="chart" ref={figure} aria-label={title}>
          <Legend data={data} at={at} format={format} most={legend === 'most'} />
          {note && <p className="tiny soft note">{note}</p>}
          {table ? (
            <Values title={title} data={data} format={format} href={href} />
          ) : (
            <div role="img" aria-label={describe(title, data, format)}>
              <Suspense fallback={<div className="bone" style={{ height }} />}>
                <Plot data={data} kind={kind} height={height} format={axis} hover={setAt} zoom={zoom} open={href && open} canvas={canvas} />
              </Suspense>
            </div>
          )}
        </figure>
      )}
    </Panel>
  );
}

const written = (v: number | null | undefined, format: (n: number) => string) => (v === null || v === undefined ? '–' : format(v));

function describe(title: string, d: ChartData, format: (n: number) => string): string {
  const sums = d.lines.map((l) => `${l.label} ${written(l.total, format)}`).join(', ');
  return `${title} from ${absolute(new Date(d.from))} to ${absolute(new Date(d.to))}: ${sums}. Choose “Show as table” for the values.`;
}

// Legend names the lines, with the values of the step under the pointer, or of all.
function Legend({ data, at, format, most }: { data: ChartData; at: number | null; format: (n: number) => string; most: boolean }) {
  const from = at === null ? undefined : data.times[at];
  return (
    <figcaption className="legend">
      {data.lines.map((l) => (
        <span key={l.label} className="row plain">
          <i style={{ background: `var(--chart-${l.tone})` }} />
          <span className="soft">{l.label}</span>
          {most && from === undefined && <span className="soft">at most</span>}
          <b className="num">{written(from === undefined ? l.total : l.values[at as number], format)}</b>
        </span>
      ))}
      <span className="soft num when">{from === undefined ? '' : absolute(new Date(from)).replace(/:00$/, '')}</span>
    </figcaption>
  );
}

function Values({
  title,
  data,
  format,
  href,
}: {
  title: string;
  data: ChartData;
  format: (n: number) => string;
  href: ChartProps['href'];
}) {
  const rows = data.times.map((at, i) => ({ at, values: data.lines.map((l) => l.values[i]) })).filter((r) => r.values.some((v) => v));
  return (
    <Scroll label={`${title}: values`} height="18rem">
      <table className="list">
        <thead>
          <tr>
            <th>Time</th>
            {data.lines.map((l) => (
              <th key={l.label} className="right">
                {l.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.reverse().map((r) => {
            const name = absolute(new Date(r.at)).replace(/:00$/, '');
            return (
              <tr key={r.at}>
                <td className="num">
                  {href ? (
                    <Link className="link" href={href(r.at, r.at + data.step)}>
                      {name}
                    </Link>
                  ) : (
                    name
                  )}
                </td>
                {r.values.map((v, i) => (
                  <td key={data.lines[i]?.label} className="right num">
                    {written(v, format)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

// savePicture saves the drawing with its title and its legend.
function savePicture(name: string, title: string, d: ChartData, drawn: HTMLCanvasElement, place: HTMLElement) {
  const color = (tone: string) => getComputedStyle(place).getPropertyValue(tone).trim();
  const scale = window.devicePixelRatio || 1;
  const head = 56;
  const pad = 12;
  const out = document.createElement('canvas');
  out.width = drawn.width + 2 * pad * scale;
  out.height = drawn.height + (head + pad) * scale;
  const to = out.getContext('2d');
  if (!to) return;
  const family = getComputedStyle(place).fontFamily;
  to.fillStyle = color('--panel');
  to.fillRect(0, 0, out.width, out.height);
  to.drawImage(drawn, pad * scale, head * scale);
  to.scale(scale, scale);
  to.fillStyle = color('--ink');
  to.font = `600 14px ${family}`;
  to.fillText(title, pad, 22);
  to.font = `12px ${family}`;
  let left = pad;
  for (const l of d.lines) {
    to.fillStyle = color(`--chart-${l.tone}`);
    to.fillRect(left, 35, 9, 9);
    to.fillStyle = color('--soft');
    to.fillText(l.label, left + 14, 44);
    left += 30 + to.measureText(l.label).width;
  }
  to.fillText(`${absolute(new Date(d.from))} – ${absolute(new Date(d.to))}`, left, 44);
  out.toBlob((blob) => blob && save(name, blob, 'image/png'));
}
