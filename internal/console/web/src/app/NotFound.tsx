import { Button } from '@mantine/core';
import { Compass } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { Me } from '../api/client';
import { Head, Panel } from '../parts/elements';
import { places } from './navigation';
import { can } from './permissions';

const likely = ['/servers', '/tools', '/agents', '/events', '/calls', '/settings'];

// NotFound is the page for an address that is none of the console.
export function NotFound({ me }: { me: Me }) {
  const [location] = useLocation();
  return (
    <>
      <Head title="Page not found" />
      <Panel>
        <div className="empty">
          <Compass size={28} strokeWidth={1.5} aria-hidden />
          <h2>The console has no page at this address</h2>
          <code className="wrap">{location}</code>
          <Button component={Link} href="/">
            Go to Overview
          </Button>
        </div>
        <nav className="links" aria-label="Other pages">
          {places
            .filter((p) => likely.includes(p.path) && (!p.needs || can(me, p.needs)))
            .map((p) => (
              <Link key={p.path} href={p.path} className="link">
                {p.name}
              </Link>
            ))}
        </nav>
      </Panel>
    </>
  );
}
