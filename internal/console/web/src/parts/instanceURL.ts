// instanceURL is where programs reach this instance. Only browsers know the name that
// the console has on this machine.
export const instanceURL = (origin: string = window.location.origin): string =>
  origin.replace('//console.junctor.localhost', '//127.0.0.1');
