import { createTheme, type MantineColorsTuple } from '@mantine/core';

// Teal is what one acts on, brass what wants attention.
const teal: MantineColorsTuple = [
  '#e9f6f4',
  '#d3ebe7',
  '#a5d8d0',
  '#74c3b8',
  '#4db1a4',
  '#2b9488',
  '#178076',
  '#0d6e66',
  '#085a54',
  '#034640',
];

// Warm greys: text first, then lines, then grounds.
const dark: MantineColorsTuple = [
  '#e9e6e1',
  '#c4bfb7',
  '#a19c94',
  '#6b6863',
  '#3a3d3f',
  '#2c2f31',
  '#1d1f20',
  '#191b1c',
  '#141617',
  '#121314',
];

const gray: MantineColorsTuple = [
  '#faf9f7',
  '#f1efea',
  '#e9e6e0',
  '#dedad2',
  '#cfcac1',
  '#a8a299',
  '#7d776e',
  '#5c5750',
  '#403c37',
  '#2a2825',
];

export const theme = createTheme({
  colors: { teal, dark, gray },
  primaryColor: 'teal',
  primaryShade: 7,
  autoContrast: true,
  luminanceThreshold: 0.32,
  fontFamily: "'Inter Variable', ui-sans-serif, system-ui, sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, SFMono-Regular, Menlo, monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.25rem', lineHeight: '1.3' }, h2: { fontSize: '0.9375rem', lineHeight: '1.4' } },
  },
  defaultRadius: 'md',
  radius: { xs: '3px', sm: '5px', md: '7px', lg: '10px', xl: '14px' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'sm' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Textarea: { defaultProps: { size: 'sm' } },
    NativeSelect: { defaultProps: { size: 'sm' } },
    SegmentedControl: { defaultProps: { withItemsBorders: false } },
    Tooltip: { defaultProps: { openDelay: 250, withArrow: false, fz: 'xs' } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Modal: {
      defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, centered: true, overlayProps: { backgroundOpacity: 0.35, blur: 2 } },
    },
  },
});
