import { Head } from '../parts/bits';
import { Schedules } from './sources/Schedules';
import { SourceList } from './sources/SourceList';

export default function Sources() {
  return (
    <>
      <Head
        title="Sources and schedules"
        sub="Where events come from: those who post signed messages, a Redis that is read, and times that are known before."
      />
      <SourceList />
      <Schedules />
    </>
  );
}
