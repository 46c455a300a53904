package cli

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// toolLimitFlags are the flags that limit the calls of single tools of a server. Each
// value is TOOL=DURATION, and 0 removes the limit.
type toolLimitFlags struct {
	idle, total []string
}

// addTo adds the flags to a command.
func (f *toolLimitFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.idle, "tool-call-timeout", nil, "--call-timeout of one tool, as `tool=duration`; 0 removes it. May be given several times")
	flags.StringArrayVar(&f.total, "tool-call-timeout-max", nil, "--call-timeout-max of one tool, as `tool=duration`; 0 removes it. May be given several times")
}

// areGiven reports whether one of the flags was given.
func (f *toolLimitFlags) areGiven() bool { return len(f.idle)+len(f.total) > 0 }

// apply returns the overrides of a server with the limits of the flags.
func (f *toolLimitFlags) apply(overrides map[string]junctor.Override) (map[string]junctor.Override, error) {
	out := maps.Clone(overrides)
	if out == nil {
		out = map[string]junctor.Override{}
	}
	for _, one := range []struct {
		flag  string
		lines []string
		set   func(o *junctor.Override, d junctor.Duration)
	}{
		{"tool-call-timeout", f.idle, func(o *junctor.Override, d junctor.Duration) { o.CallTimeout = d }},
		{"tool-call-timeout-max", f.total, func(o *junctor.Override, d junctor.Duration) { o.CallTimeoutMax = d }},
	} {
		for _, line := range one.lines {
			tool, text, ok := strings.Cut(line, "=")
			if !ok || tool == "" {
				return nil, usageErrorf("--%s: write it as tool=duration, such as export=30m", one.flag)
			}
			d, err := junctor.ParseDuration(text)
			if err != nil {
				return nil, usageErrorf("--%s: %s", one.flag, junctor.AsError(err).Message)
			}
			o := out[tool]
			one.set(&o, d)
			if out[tool] = o; o == (junctor.Override{}) {
				delete(out, tool)
			}
			if err := junctor.CheckFields(o); err != nil {
				return nil, usageErrorf("--%s: %s", one.flag, junctor.AsError(err).Message)
			}
		}
	}
	return out, nil
}

// changeOverrides adds the overrides that the flags change to a change of a server. A
// change replaces all overrides, so those of the server are read first. read is the
// version that was read; zero if nothing was.
func (f *toolLimitFlags) changeOverrides(c *cli, cmd *cobra.Command, id string, change map[string]any) (read time.Time, err error) {
	if !f.areGiven() {
		return time.Time{}, nil
	}
	var s junctor.Server
	if err := c.requestAPI(cmd, http.MethodGet, apiPath("servers", id), nil, &s); err != nil {
		return time.Time{}, err
	}
	change["overrides"], err = f.apply(s.Overrides)
	return s.UpdatedAt, err
}

// describeLimit returns a limit as people write it; "" for none.
func describeLimit(d junctor.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// describeToolLimits returns the limits that tools have of their own, such as
// "export: 30m, 2h in total"; "" for none.
func describeToolLimits(overrides map[string]junctor.Override) string {
	var all []string
	for _, tool := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[tool]
		var limits []string
		if o.CallTimeout > 0 {
			limits = append(limits, o.CallTimeout.String())
		}
		if o.CallTimeoutMax > 0 {
			limits = append(limits, o.CallTimeoutMax.String()+" in total")
		}
		if len(limits) > 0 {
			all = append(all, tool+": "+strings.Join(limits, ", "))
		}
	}
	return strings.Join(all, "; ")
}
