import { UnstyledButton } from '@mantine/core';
import { ArrowDownLeft, ArrowUpRight, CreditCard, House, PiggyBank, Wallet } from 'lucide-react';
import type { ReactNode } from 'react';
import { Tag } from '../parts/elements';
import { labelOf } from './actions';
import { asNumber, asText, isRecord } from './data';
import { day, money, number } from './formats';
import { type Place, useProps, useStage } from './stage';
import { boundTo, resolve, type World } from './values';

// The banking catalog: accounts and what moved on them.

const icons: Record<string, ReactNode> = {
  savings: <PiggyBank size={18} aria-hidden />,
  credit: <CreditCard size={18} aria-hidden />,
  mortgage: <House size={18} aria-hidden />,
};
const iconOf = (type: string) =>
  icons[Object.keys(icons).find((k) => type.toLowerCase().includes(k)) ?? ''] ?? <Wallet size={18} aria-hidden />;

function Amount({ of, currency, className = '' }: { of: unknown; currency: string; className?: string }) {
  const n = asNumber(of);
  return (
    <span className={`num ${className} ${n !== undefined && n < 0 ? 'sf-owed' : ''}`}>
      {n === undefined ? asText(of) : money(n, currency)}
    </span>
  );
}

interface Account {
  name: string;
  type: string;
  balance: unknown;
  currency: string;
  number: string;
}

function AccountLine({ a }: { a: Account }) {
  return (
    <>
      <span className="sf-mark">{iconOf(a.type)}</span>
      <span className="grow sf-name">
        <b>{a.name}</b>
        <span className="small soft">{[a.type, a.number].filter(Boolean).join(' · ')}</span>
      </span>
      <Amount of={a.balance} currency={a.currency} className="sf-sum" />
    </>
  );
}

// Line is a row of a list. It can be pressed where the list says what happens;
// the agent then hears the id of what was pressed.
function Line({
  action,
  id,
  row = '',
  world,
  className,
  children,
}: {
  action: unknown;
  id: string;
  row?: string;
  world: World;
  className: string;
  children: ReactNode;
}) {
  const stage = useStage();
  if (!isRecord(action)) return <div className={className}>{children}</div>;
  return (
    <UnstyledButton
      className={`${className} sf-press`}
      disabled={stage.busy}
      onClick={(e) => stage.act(action, id, world, { label: labelOf(e.currentTarget), ...(row ? { more: { id: row } } : {}) })}
    >
      {children}
    </UnstyledButton>
  );
}

// rowsOf gives the rows of a list, each with where its own paths begin.
function rowsOf(b: Place['b'], name: string, data: unknown): { row: Record<string, unknown>; world: World }[] {
  const place = boundTo(b.of[name], b.scope);
  const list = resolve(b.of[name], { data, scope: b.scope });
  return (Array.isArray(list) ? list : []).slice(0, 300).map((v, i) => {
    const row = isRecord(v) ? v : {};
    return { row, world: place === undefined ? { data: row, scope: '' } : { data, scope: `${place}/${i}` } };
  });
}

export function AccountCard({ b }: Place) {
  const { text, value, world } = useProps(b);
  const a = {
    name: text('name'),
    type: text('type'),
    balance: value('balance'),
    currency: text('currency'),
    number: text('number'),
  };
  return (
    <Line action={b.of.action} id={b.of.id} row={text('accountId')} world={world} className="sf-card sf-account">
      <AccountLine a={a} />
    </Line>
  );
}

export function AccountDetail({ b }: Place) {
  const { text, value } = useProps(b);
  const currency = text('currency');
  return (
    <Summary
      icon={iconOf(text('type'))}
      title={text('name')}
      sub={text('type')}
      amount={<Amount of={value('balance')} currency={currency} className="sf-large" />}
    >
      <dl className="sf-facts">
        <Fact name="Account number">{text('number')}</Fact>
        <Fact name="Sort code">{text('sortCode')}</Fact>
        <Fact name="Available">
          <Amount of={value('available')} currency={currency} />
        </Fact>
        <Fact name="Overdraft">
          <Amount of={value('overdraft')} currency={currency} />
        </Fact>
      </dl>
    </Summary>
  );
}

export function AccountOverview({ b }: Place) {
  const { stage, text, value } = useProps(b);
  const currency = text('currency');
  const rows = rowsOf(b, 'accounts', stage.data);
  const total = value('total') ?? rows.reduce((sum, r) => sum + (asNumber(r.row.balance) ?? 0), 0);
  return (
    <section className="sf-card sf-bank" aria-label={text('title') || 'Accounts'}>
      <header className="sf-bank-head">
        <span className="grow soft small">{text('title') || 'Net worth'}</span>
        <Amount of={total} currency={currency} className="sf-large" />
      </header>
      {rows.map(({ row, world }, i) => (
        <Line key={asText(row.id) || i} action={b.of.action} id={b.of.id} row={asText(row.id)} world={world} className="sf-line">
          <AccountLine
            a={{
              name: asText(row.name),
              type: asText(row.type),
              balance: row.balance,
              currency: asText(row.currency) || currency,
              number: asText(row.number),
            }}
          />
        </Line>
      ))}
    </section>
  );
}

export function TransactionList({ b }: Place) {
  const { stage, text } = useProps(b);
  const currency = text('currency');
  const rows = rowsOf(b, 'items', stage.data);
  const title = text('title');
  return (
    <section className="sf-card sf-bank" aria-label={title || 'Transactions'}>
      {title && (
        <header className="sf-bank-head">
          <b className="grow">{title}</b>
          <span className="small soft">{rows.length}</span>
        </header>
      )}
      {rows.length === 0 && <p className="sf-line soft">{text('empty') || 'No transactions found'}</p>}
      {rows.map(({ row, world }, i) => (
        <Line key={asText(row.id) || i} action={b.of.action} id={b.of.id} row={asText(row.id)} world={world} className="sf-line">
          <Transaction row={row} currency={currency} />
        </Line>
      ))}
    </section>
  );
}

function Transaction({ row, currency }: { row: Record<string, unknown>; currency: string }) {
  const n = asNumber(row.amount);
  const into = row.type === 'credit' || (row.type !== 'debit' && n !== undefined && n > 0);
  const shown = n === undefined ? asText(row.amount) : `${into ? '+' : '-'}${money(Math.abs(n), asText(row.currency) || currency)}`;
  return (
    <>
      <span className={`sf-mark ${into ? 'good' : ''}`}>
        {into ? <ArrowDownLeft size={16} aria-hidden /> : <ArrowUpRight size={16} aria-hidden />}
      </span>
      <span className="grow sf-name">
        <b>{asText(row.description)}</b>
        <span className="small soft">{day(row.date) || asText(row.date)}</span>
      </span>
      <span className={`num sf-sum ${into ? 'sf-in' : ''}`}>{shown}</span>
    </>
  );
}

// Fact is left out by the styles where there is nothing to tell.
const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="sf-fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

// Summary is one account at length: what it is, what is on it, and facts.
function Summary({
  icon,
  title,
  sub,
  amount,
  children,
}: {
  icon: ReactNode;
  title: string;
  sub?: ReactNode;
  amount: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="sf-card sf-bank" aria-label={title}>
      <header className="sf-bank-head">
        <span className="sf-mark">{icon}</span>
        <span className="grow sf-name">
          <b>{title}</b>
          {sub && <span className="small soft">{sub}</span>}
        </span>
        {amount}
      </header>
      {children}
    </section>
  );
}

const percent = (v: unknown) => (asNumber(v) === undefined ? asText(v) : `${number(v, 2)}%`);

export function CreditCardSummary({ b }: Place) {
  const { text, value } = useProps(b);
  const currency = text('currency');
  const limit = asNumber(value('limit'));
  const owed = Math.abs(asNumber(value('balance')) ?? 0);
  const used = limit ? Math.min(1, owed / limit) : 0;
  const free = value('available') ?? (limit === undefined ? undefined : limit - owed);
  return (
    <Summary
      icon={<CreditCard size={18} aria-hidden />}
      title={text('name') || 'Credit card'}
      sub={text('number')}
      amount={<Amount of={value('balance')} currency={currency} className="sf-large" />}
    >
      <div className="sf-used">
        <progress max={1} value={used} aria-label={`${number(used * 100, 0)}% of the limit is used`} data-high={used > 0.75} />
        <span className="small soft num">{number(used * 100, 0)}% used</span>
      </div>
      <dl className="sf-facts">
        <Fact name="Available credit">
          <Amount of={free} currency={currency} />
        </Fact>
        <Fact name="Credit limit">
          <Amount of={value('limit')} currency={currency} />
        </Fact>
        <Fact name="Minimum payment">
          <Amount of={value('minimumPayment')} currency={currency} />
        </Fact>
        <Fact name="Payment due">{day(value('dueDate')) || text('dueDate')}</Fact>
      </dl>
    </Summary>
  );
}

export function MortgageDetail({ b }: Place) {
  const { text, value } = useProps(b);
  const currency = text('currency');
  return (
    <Summary
      icon={<House size={18} aria-hidden />}
      title={text('name') || 'Mortgage'}
      sub={text('property')}
      amount={<Amount of={value('balance')} currency={currency} className="sf-large" />}
    >
      <dl className="sf-facts">
        <Fact name="Monthly payment">
          <Amount of={value('monthlyPayment')} currency={currency} />
        </Fact>
        <Fact name="Interest rate">
          {percent(value('rate'))} {text('rateType') && <Tag>{text('rateType')}</Tag>}
        </Fact>
        <Fact name="Term ends">{day(value('endDate')) || text('endDate') || text('term')}</Fact>
        <Fact name="Next payment">{day(value('nextPayment')) || text('nextPayment')}</Fact>
      </dl>
    </Summary>
  );
}

export function SavingsSummary({ b }: Place) {
  const { text, value } = useProps(b);
  const currency = text('currency');
  return (
    <Summary
      icon={<PiggyBank size={18} aria-hidden />}
      title={text('name') || 'Savings'}
      sub={text('number')}
      amount={<Amount of={value('balance')} currency={currency} className="sf-large" />}
    >
      <dl className="sf-facts">
        <Fact name="Interest rate">{percent(value('rate'))}</Fact>
        <Fact name="Interest earned">
          <Amount of={value('interest')} currency={currency} />
        </Fact>
        {value('goal') !== undefined && (
          <Fact name="Goal">
            <Amount of={value('goal')} currency={currency} />
          </Fact>
        )}
      </dl>
    </Summary>
  );
}
