import { Head } from '../parts/elements';
import { Schedules } from './sources/Schedules';
import { SourceList } from './sources/SourceList';

export default function Sources() {
  return (
    <>
      <Head title="Sources and schedules" sub="Events come from senders of signed messages, from Redis and from schedules." />
      <SourceList />
      <Schedules />
    </>
  );
}
