import { DeliveryList } from './Deliveries';

export default function DeadLetters() {
  return <DeliveryList title="Dead letters" sub="Deliveries that were given up. Find out why, repair it, and replay them." state="dead" />;
}
