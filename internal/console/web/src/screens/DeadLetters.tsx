import { DeliveryList } from './Deliveries';

export default function DeadLetters() {
  return <DeliveryList title="Dead letters" sub="Deliveries whose attempts all failed. Fix the cause, then replay them." state="dead" />;
}
