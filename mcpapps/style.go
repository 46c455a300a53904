package mcpapps

import "slices"

// StyleVariable is the name of a CSS custom property that hosts define.
type StyleVariable string

// StyleVariables returns all names in the order of the specification. A host may
// leave out any of them, so a page gives a default, as in var(--color-text-primary,
// #222).
func StyleVariables() []StyleVariable {
	var all []StyleVariable
	family := func(prefix, suffix string, names ...string) {
		for _, n := range names {
			all = append(all, StyleVariable(prefix+n+suffix))
		}
	}
	kinds := []string{"primary", "secondary", "tertiary", "inverse", "ghost", "info", "danger", "success", "warning", "disabled"}
	family("--color-background-", "", kinds...)
	family("--color-text-", "", kinds...)
	family("--color-border-", "", kinds...)
	family("--color-ring-", "", "primary", "secondary", "inverse", "info", "danger", "success", "warning")
	family("--font-", "", "sans", "mono")
	family("--font-weight-", "", "normal", "medium", "semibold", "bold")
	texts := []string{"xs", "sm", "md", "lg"}
	headings := []string{"xs", "sm", "md", "lg", "xl", "2xl", "3xl"}
	family("--font-text-", "-size", texts...)
	family("--font-heading-", "-size", headings...)
	family("--font-text-", "-line-height", texts...)
	family("--font-heading-", "-line-height", headings...)
	family("--border-radius-", "", "xs", "sm", "md", "lg", "xl", "full")
	family("--border-width-", "", "regular")
	family("--shadow-", "", "hairline", "sm", "md", "lg")
	return all
}

// IsKnown reports whether the specification has the name.
func (v StyleVariable) IsKnown() bool { return slices.Contains(StyleVariables(), v) }
