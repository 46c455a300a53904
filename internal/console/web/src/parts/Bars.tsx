import { clock } from './format';
import type { Bucket } from './stats';

// Bars shows counts over time, what failed on top in its own colour.
export function Bars({
  buckets,
  label,
  height = 96,
  name = (b) => clock(new Date(b.from)),
}: {
  buckets: Bucket[];
  label: string;
  height?: number;
  name?: (b: Bucket) => string;
}) {
  const width = 600;
  const top = Math.max(1, ...buckets.map((b) => b.ok + b.failed));
  const step = width / buckets.length;
  const wide = Math.min(step * 0.72, 30);
  const scale = (n: number) => (n / top) * (height - 8);
  return (
    <svg className="bars" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" style={{ height }} role="img" aria-label={label}>
      <line className="base" x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} vectorEffect="non-scaling-stroke" />
      {buckets.map((b, i) => {
        const ok = scale(b.ok);
        const ko = scale(b.failed);
        return (
          <g key={b.from}>
            <title>{`${name(b)} · ${b.ok + b.failed} calls, ${b.failed} failed`}</title>
            <rect x={i * step} width={step} y={0} height={height} fill="transparent" />
            {b.ok > 0 && <rect className="ok" x={(i + 0.5) * step - wide / 2} width={wide} y={height - ok} height={ok} rx="1.5" />}
            {b.failed > 0 && <rect className="ko" x={(i + 0.5) * step - wide / 2} width={wide} y={height - ok - ko} height={ko} rx="1.5" />}
          </g>
        );
      })}
    </svg>
  );
}
