import { instanceURL } from '../../parts/instanceURL';

// webhookURL is the address that senders post the messages of a source to.
export const webhookURL = (path: string): string => `${instanceURL()}${path}`;
