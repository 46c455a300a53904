// The components that the console draws. Those of other catalogs than the
// basic one and the bank's carry the namespace of theirs, so that two catalogs
// never mean different things by one name.

export const basic = [
  'Text',
  'Image',
  'Icon',
  'Video',
  'AudioPlayer',
  'Row',
  'Column',
  'List',
  'Card',
  'Tabs',
  'Modal',
  'Divider',
  'Button',
  'TextField',
  'CheckBox',
  'ChoicePicker',
  'Slider',
  'DateTimeInput',
] as const;

export const banking = [
  'AccountCard',
  'AccountOverview',
  'AccountDetail',
  'TransactionList',
  'CreditCardSummary',
  'MortgageDetail',
  'SavingsSummary',
] as const;

export const guests = ['googlemaps:MapView', 'mcp:AppFrame'] as const;

export type Drawn = (typeof basic)[number] | (typeof banking)[number] | (typeof guests)[number];

const all: ReadonlySet<string> = new Set([...basic, ...banking, ...guests]);

export const draws = (name: string): name is Drawn => all.has(name);
