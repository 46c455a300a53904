package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Functions of conditions, besides those of CEL itself.
const (
	funcGlob   = "glob"
	funcBelow  = "below"
	funcCIDR   = "cidr"
	funcDomain = "domain"
	funcHours  = "hours"
)

// functionOptions declares the functions.
func functionOptions() []cel.EnvOption {
	text := cel.StringType
	return []cel.EnvOption{
		cel.Function(funcGlob, cel.Overload("glob_string_string", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(func(value, pattern ref.Val) ref.Val {
			return types.Bool(matchGlob(string(pattern.(types.String)), string(value.(types.String)))) //nolint:forcetypeassert // declared so
		}))),
		cel.Function(funcBelow, cel.Overload("below_string_string", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(func(value, folder ref.Val) ref.Val {
			return types.Bool(isBelow(string(value.(types.String)), string(folder.(types.String)))) //nolint:forcetypeassert // declared so
		}))),
		cel.Function(funcCIDR, cel.Overload("cidr_string_string", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(func(address, network ref.Val) ref.Val {
			prefix, err := parseNetwork(string(network.(types.String))) //nolint:forcetypeassert // declared so
			if err != nil {
				return types.WrapErr(err)
			}
			at, err := netip.ParseAddr(string(address.(types.String))) //nolint:forcetypeassert // declared so
			return types.Bool(err == nil && prefix.Contains(at.Unmap().WithZone("")))
		}))),
		cel.Function(funcDomain, cel.Overload("domain_string", []*cel.Type{text}, cel.StringType, cel.UnaryBinding(func(address ref.Val) ref.Val {
			return types.String(domainOf(string(address.(types.String)))) //nolint:forcetypeassert // declared so
		}))),
		cel.Function(funcHours, cel.Overload("hours_string_string_timestamp", []*cel.Type{text, text, cel.TimestampType}, cel.BoolType, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			spec, err := parseHours(string(args[0].(types.String)), string(args[1].(types.String))) //nolint:forcetypeassert // declared so
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(spec.includes(args[2].(types.Timestamp).Time)) //nolint:forcetypeassert // declared so
		}))),
		// hours(days, zone) is about the time of the request.
		cel.Macros(cel.GlobalMacro(funcHours, 2, func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
			return f.NewCall(funcHours, args[0], args[1], f.NewSelect(f.NewIdent(varRequest), "time")), nil
		})),
	}
}

// checkConstants returns what is wrong with a constant argument of a function, so
// that a mistake is found when the rule is saved. position counts from 0.
func checkConstant(function string, position int, text string) error {
	switch {
	case function == funcHours && position == 0:
		_, err := parseHours(text, "UTC")
		return err
	case function == funcHours && position == 1:
		_, err := loadZone(text)
		return err
	case function == funcCIDR && position == 1:
		_, err := parseNetwork(text)
		return err
	case function == funcBelow && position == 1 && !strings.HasPrefix(text, "/") && !isWindowsPath(text):
		return fmt.Errorf("below requires an absolute folder, such as /srv/data; %q is none", text)
	}
	return nil
}

// matchGlob reports whether a pattern matches all of a text. * stands for any
// characters but a slash, ** for any characters, ? for one that is no slash. It
// takes at most len(pattern) times len(text) steps.
func matchGlob(pattern, text string) bool {
	type wildcard struct{ pattern, text int }
	p, t := 0, 0
	single, double := wildcard{-1, 0}, wildcard{-1, 0} // where the last * and ** continue
	for t < len(text) {
		switch {
		case p+1 < len(pattern) && pattern[p] == '*' && pattern[p+1] == '*':
			p += 2
			for p < len(pattern) && pattern[p] == '*' {
				p++
			}
			double, single = wildcard{p, t}, wildcard{-1, 0}
			continue
		case p < len(pattern) && pattern[p] == '*':
			p++
			single = wildcard{p, t}
			continue
		case p < len(pattern) && (pattern[p] == text[t] || pattern[p] == '?' && text[t] != '/'):
			p++
			t++
			continue
		}
		// Let the last wildcard stand for one character more.
		if single.pattern >= 0 && text[single.text] != '/' {
			single.text++
			p, t = single.pattern, single.text
			continue
		}
		if double.pattern < 0 {
			return false
		}
		double.text++
		p, t, single = double.pattern, double.text, wildcard{-1, 0}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// isBelow reports whether a path is a folder or something in it, once . and ..
// are resolved. A relative path is not, since nobody knows where it leads.
func isBelow(value, folder string) bool {
	if strings.ContainsRune(value, 0) {
		return false
	}
	if isWindowsPath(value) && isWindowsPath(folder) {
		value, folder = "/"+strings.ToLower(strings.ReplaceAll(value, `\`, "/")), "/"+strings.ToLower(strings.ReplaceAll(folder, `\`, "/"))
	}
	if !strings.HasPrefix(value, "/") || !strings.HasPrefix(folder, "/") {
		return false
	}
	value, folder = path.Clean(value), path.Clean(folder)
	return folder == "/" || value == folder || strings.HasPrefix(value, folder+"/")
}

// isWindowsPath reports whether a path begins with a drive.
func isWindowsPath(p string) bool {
	return len(p) >= 3 && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z') && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}

// parseNetwork reads a network, or one address.
func parseNetwork(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), nil
	}
	at, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a valid network; use a form such as 10.0.0.0/8 or 2001:db8::/32", text)
	}
	return netip.PrefixFrom(at, at.BitLen()), nil
}

// domainOf returns the host of a URL in lower case, without port and final dot; ""
// if the text is no URL with a host, or one that two readers could read
// differently.
func domainOf(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// weekHours are hours of some days of the week in a time zone.
type weekHours struct {
	zone     *time.Location
	days     [7]bool // from Sunday
	from, to int     // minutes of the day; to may be 1440
}

// includes reports whether a moment is within the hours. Hours that end before
// they begin go on after midnight, and belong to the day on which they begin.
func (h *weekHours) includes(at time.Time) bool {
	at = at.In(h.zone)
	minute, day := at.Hour()*60+at.Minute(), int(at.Weekday())
	if h.from <= h.to {
		return h.days[day] && minute >= h.from && minute < h.to
	}
	return h.days[day] && minute >= h.from || h.days[(day+6)%7] && minute < h.to
}

// loadZone returns a time zone by its name.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q; use a name such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

// parseHours reads hours such as "Mon-Fri 08:00-18:00" or "Sat,Sun 00:00-24:00".
func parseHours(text, zone string) (*weekHours, error) {
	h := &weekHours{}
	var err error
	if h.zone, err = loadZone(zone); err != nil {
		return nil, err
	}
	days, times, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok {
		return nil, errHours(text)
	}
	for part := range strings.SplitSeq(days, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, okFrom := parseDay(first)
		to, okTo := from, true
		if isRange {
			to, okTo = parseDay(last)
		}
		if !okFrom || !okTo {
			return nil, errHours(text)
		}
		for d := from; ; d = (d + 1) % 7 {
			h.days[d] = true
			if d == to {
				break
			}
		}
	}
	from, to, ok := strings.Cut(strings.TrimSpace(times), "-")
	var okFrom, okTo bool
	h.from, okFrom = parseMinute(from)
	h.to, okTo = parseMinute(to)
	if !ok || !okFrom || !okTo || h.from == h.to || h.from == 24*60 {
		return nil, errHours(text)
	}
	return h, nil
}

func errHours(text string) error {
	return fmt.Errorf("%q is not a valid time of the week; use a form such as Mon-Fri 08:00-18:00", text)
}

// parseDay reads the three letters of a day.
func parseDay(text string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(text, d.String()[:3]) {
			return d, true
		}
	}
	return 0, false
}

// parseMinute reads a time of day as minutes since midnight, 24:00 included.
func parseMinute(text string) (int, bool) {
	if len(text) != 5 || text[2] != ':' {
		return 0, false
	}
	for _, i := range []int{0, 1, 3, 4} {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	hour, minute := int(text[0]-'0')*10+int(text[1]-'0'), int(text[3]-'0')*10+int(text[4]-'0')
	return hour*60 + minute, minute < 60 && (hour < 24 || hour == 24 && minute == 0)
}
