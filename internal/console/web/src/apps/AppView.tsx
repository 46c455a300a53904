import './apps.css';
import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { AppWindow, LogOut, Maximize2, Minimize2, PictureInPicture2, RotateCcw, ShieldAlert, Unplug } from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { ExternalLink } from '../parts/elements';
import { ErrorCard } from '../parts/states';
import { ConfirmDialog } from './ConfirmDialog';
import { type ContextOverrides, devices } from './context';
import type { RunningApp } from './runningApp';
import type { Snapshot } from './state';

export const useSnapshot = (r: RunningApp): Snapshot => useSyncExternalStore(r.subscribe, r.look);

// AppView is the place of a View on a screen. Its frame is put in by hand and
// stays where it is: how large it is shown is a matter of style alone, since a
// frame that is moved begins anew.
export function AppView({
  running,
  title,
  fallback,
  switches,
  small = false,
}: {
  running: RunningApp;
  title: string;
  fallback?: ReactNode; // what the tool said, for when the App does not come
  switches?: ContextOverrides;
  small?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const s = useSnapshot(running);
  // Before the frame is taken from the page, it hears a farewell.
  useLayoutEffect(() => (box.current ? running.mount(box.current) : undefined), [running]);

  useEffect(() => {
    if (s.mode !== 'fullscreen') return;
    const leave = (e: KeyboardEvent) => e.key === 'Escape' && running.show('inline');
    window.addEventListener('keydown', leave);
    return () => window.removeEventListener('keydown', leave);
  }, [s.mode, running]);

  const id = s.view?.id;
  const ready = s.state === 'ready';
  useEffect(() => {
    if (!id || !ready || small) return;
    const timer = setInterval(() => void running.check(id, running.look().trouble), 30_000);
    return () => clearInterval(timer);
  }, [id, ready, small, running]);

  const device = switches?.device ? devices[switches.device] : undefined;
  const waits = s.state === 'opening' || s.state === 'loading' || s.state === 'starting';
  const hidden = s.state === 'failed' || s.state === 'left' || s.state === 'closed' || s.state === 'opening';
  const plain = s.view?.prefers_border === false && !waits && !hidden;
  return (
    <section
      className={`view ${s.mode} ${plain ? 'plain' : ''} ${small ? 'small' : ''}`}
      data-palette={running.theme()}
      data-state={s.state}
      aria-label={`App: ${title}`}
      aria-busy={waits}
    >
      {!small && <Bar running={running} s={s} title={title} />}
      {!small && <Notices running={running} s={s} />}
      <div
        className="view-box"
        ref={box}
        hidden={hidden}
        style={{
          ...(s.mode === 'inline' && !small ? { height: s.height } : {}),
          ...(device && s.mode === 'inline' ? { maxWidth: device.width } : {}),
        }}
      />
      {waits && <Waiting s={s} small={small} />}
      {!small && <Ended running={running} s={s} fallback={fallback} />}
      {small && hidden && s.state !== 'opening' && <p className="small soft pad">The App is unavailable.</p>}
      {s.question && (
        <ConfirmDialog title={title} server={s.view?.server ?? ''} question={s.question} decide={(yes) => running.decide(yes)} />
      )}
    </section>
  );
}

function Bar({ running, s, title }: { running: RunningApp; s: Snapshot; title: string }) {
  const shown = s.state === 'ready' || s.state === 'silent';
  return (
    <header className="view-bar">
      <AppWindow size={14} aria-hidden />
      <span className="cut grow">
        <b>{title}</b> {s.view && <span className="soft small">by {s.view.server}</span>}
      </span>
      {shown && s.mode !== 'inline' && <Act name="Exit full screen" icon={<Minimize2 size={15} />} act={() => running.show('inline')} />}
      {shown && s.mode !== 'pip' && s.modes.includes('pip') && (
        <Act name="Picture in picture" icon={<PictureInPicture2 size={15} />} act={() => running.show('pip')} />
      )}
      {shown && s.mode !== 'fullscreen' && s.modes.includes('fullscreen') && (
        <Act name="Full screen" icon={<Maximize2 size={15} />} act={() => running.show('fullscreen')} />
      )}
      <Act name="Reload the App" icon={<RotateCcw size={15} />} act={() => running.again()} />
      {s.state !== 'closed' && <Act name="Close the App" icon={<LogOut size={15} />} act={() => running.leave()} />}
    </header>
  );
}

const Act = ({ name, icon, act }: { name: string; icon: ReactNode; act: () => void }) => (
  <Tooltip label={name}>
    <ActionIcon size="sm" aria-label={name} onClick={act}>
      {icon}
    </ActionIcon>
  </Tooltip>
);

const wishes: Record<string, string> = {
  camera: 'your camera',
  microphone: 'your microphone',
  geolocation: 'your location',
  clipboardWrite: 'write access to your clipboard',
};

// Notices are what the person should know of the View before using it.
function Notices({ running, s }: { running: RunningApp; s: Snapshot }) {
  const view = s.view;
  if (!view || s.state === 'failed' || s.state === 'closed') return null;
  const wanted = (view.permissions ?? []).filter((p) => !s.granted.includes(p));
  return (
    <>
      {wanted.length > 0 && (
        <Notice
          icon={<ShieldAlert size={15} aria-hidden />}
          text={`The App asks for ${wanted.map((p) => wishes[p] ?? p).join(', ')}. It runs without.`}
        >
          <Button size="compact-xs" variant="default" onClick={() => running.again(undefined, { allow: view.permissions ?? [] })}>
            Allow and reload
          </Button>
        </Notice>
      )}
      {view.approval.state === 'changed' && (
        <Notice
          icon={<ShieldAlert size={15} aria-hidden />}
          text="The page has changed since it was approved. It runs under the strict policy until it is approved again."
        />
      )}
      {s.page === 'changed' && (
        <Notice icon={<RotateCcw size={15} aria-hidden />} text="The server has a newer version of this page.">
          <Button size="compact-xs" variant="default" onClick={() => running.again()}>
            Load the new version
          </Button>
        </Notice>
      )}
      {s.page === 'removed' && (
        <Notice
          icon={<Unplug size={15} aria-hidden />}
          text="The server or tool of this App was removed. The page stays visible but no longer works."
        />
      )}
      {s.trouble && s.page !== 'removed' && (
        <Notice icon={<Unplug size={15} aria-hidden />} text={`The server could not complete a request of the App: ${s.trouble}`} />
      )}
      {s.state === 'silent' && (
        <Notice icon={<Unplug size={15} aria-hidden />} text="The App does not answer. It may be busy, or it has crashed.">
          <Button size="compact-xs" variant="default" onClick={() => running.again()}>
            Reload
          </Button>
        </Notice>
      )}
      {(view.notes ?? []).map((n) => (
        <Notice key={n} icon={<ShieldAlert size={15} aria-hidden />} text={n} />
      ))}
    </>
  );
}

const Notice = ({ icon, text, children }: { icon: ReactNode; text: string; children?: ReactNode }) => (
  <div className="view-notice" role="status">
    {icon}
    <span className="grow wrap">{text}</span>
    {children}
  </div>
);

const steps: Partial<Record<Snapshot['state'], string>> = {
  opening: 'Loading the page…',
  loading: 'Starting the sandbox…',
  starting: 'Starting the App…',
};

function Waiting({ s, small }: { s: Snapshot; small: boolean }) {
  return (
    <div className="view-wait" role="status">
      <div className="bone" />
      {!small && (
        <span className="small soft">
          {steps[s.state]} {s.slow && 'This takes longer than usual. Junctor stops waiting after 30 s.'}
        </span>
      )}
    </div>
  );
}

// Ended is shown in the place of a View that is not there.
function Ended({ running, s, fallback }: { running: RunningApp; s: Snapshot; fallback: ReactNode }) {
  if (s.state === 'failed') {
    const opaque = s.view?.isolation === 'origin' && !s.app;
    return (
      <div className="pad stack">
        <ErrorCard title="The App cannot be shown" error={s.error} retry={() => running.again()} />
        {opaque && (
          <div>
            <Button size="compact-sm" variant="default" onClick={() => running.again('opaque')}>
              Try without its own origin
            </Button>
          </div>
        )}
        <Fallback>{fallback}</Fallback>
      </div>
    );
  }
  if (s.state === 'left')
    return (
      <div className="pad stack">
        <div className="notice" role="alert">
          <ShieldAlert size={16} aria-hidden />
          <span className="grow">
            <b>The App left its sandbox and was stopped.</b> It tried to open another page. Nothing was sent there.
          </span>
          <Button size="compact-sm" variant="default" onClick={() => running.again()}>
            Reload
          </Button>
        </div>
        <Fallback>{fallback}</Fallback>
      </div>
    );
  if (s.state === 'closed')
    return (
      <div className="pad stack">
        <div className="row">
          <span className="soft grow">The App is closed.</span>
          <Button size="compact-sm" variant="default" onClick={() => running.again()}>
            Open again
          </Button>
        </div>
        <Fallback>{fallback}</Fallback>
      </div>
    );
  return null;
}

const Fallback = ({ children }: { children: ReactNode }) =>
  children ? (
    <>
      <span className="small soft">Response of the tool, without the App:</span>
      {children}
    </>
  ) : null;

// Domain is what a page calls itself. It never chooses where it runs.
export const Domain = ({ domain }: { domain: string }) => (
  <span>
    <ExternalLink href={domain} /> <span className="soft">declared by the App; it runs on an origin of this instance</span>
  </span>
);
