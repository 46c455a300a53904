package intake

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Cron is the times of a schedule, as its five fields say: minute, hour, day of
// the month, month, day of the week. A field is a star, a number, a range as 1-5,
// any of these with a step as */15, and lists of them with commas; months and
// days of the week may be names. Where both days are named, either is enough.
// Sunday is 0 and 7. @hourly, @daily, @weekly, @monthly and @yearly are taken too.
type Cron struct {
	minute, hour, day, month, weekday uint64 // a bit for each value
	anyDay, anyWeekday                bool
	zone                              *time.Location
}

type cronField struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

func cronFields() [5]cronField {
	return [5]cronField{
		{"minute", 0, 59, nil},
		{"hour", 0, 23, nil},
		{"day of the month", 1, 31, nil},
		{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// ParseCron reads a schedule; zone is a name such as Europe/Berlin, "" is UTC. One
// that never comes is refused.
func ParseCron(text, zone string) (*Cron, error) {
	switch text {
	case "@hourly":
		text = "0 * * * *"
	case "@daily", "@midnight":
		text = "0 0 * * *"
	case "@weekly":
		text = "0 0 * * 0"
	case "@monthly":
		text = "0 0 1 * *"
	case "@yearly", "@annually":
		text = "0 0 1 1 *"
	}
	place, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is no time zone: use a name such as Europe/Berlin, or leave it out for UTC", zone)
	}
	words := strings.Fields(text)
	if len(words) != 5 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is no schedule: write five fields, minute hour day month weekday, such as 0 9 * * mon-fri", text)
	}
	c := &Cron{zone: place}
	for i, to := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.weekday} {
		f := cronFields()[i]
		if *to, err = f.parse(strings.ToLower(words[i])); err != nil {
			return nil, err
		}
	}
	c.anyDay, c.anyWeekday = strings.HasPrefix(words[2], "*"), strings.HasPrefix(words[4], "*")
	if c.weekday&(1<<7) != 0 { // Sunday
		c.weekday |= 1
	}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the schedule %q never comes: no month has such a day", text)
	}
	return c, nil
}

func (f *cronField) parse(word string) (set uint64, err error) {
	fault := func() error {
		return junctor.Errorf(junctor.CodeInvalid, "the %s %q of a schedule is none: use *, a number from %d to %d, a range as 1-5, a step as */15, or several with commas", f.name, word, f.min, f.max)
	}
	for one := range strings.SplitSeq(word, ",") {
		span, every, stepped := strings.Cut(one, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(every); err != nil || step < 1 || step > f.max+1 {
				return 0, fault()
			}
		}
		from, to := f.min, f.max
		if span != "*" {
			low, high, isRange := strings.Cut(span, "-")
			var ok bool
			if from, ok = f.value(low); !ok {
				return 0, fault()
			}
			switch {
			case isRange:
				if to, ok = f.value(high); !ok || to < from {
					return 0, fault()
				}
			case !stepped:
				to = from
			}
		}
		for v := from; v <= to; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f *cronField) value(word string) (int, bool) {
	for i, name := range f.names {
		if word == name {
			return f.min + i, true
		}
	}
	v, err := strconv.Atoi(word)
	return v, err == nil && v >= f.min && v <= f.max && word[0] != '+' && word[0] != '-'
}

// Next is the first time after a moment; zero where there is none within some
// years. A time that a change of the clocks leaves out comes at the moment it
// would have been; one that comes twice, once.
func (c *Cron) Next(after time.Time) time.Time {
	local := after.In(c.zone)
	year, month, day := local.Date()
	for range 366 * 9 { // from one 29th of February to the next, over a year that has none
		if c.dayFits(year, month, day) {
			if t := c.within(year, month, day, after); !t.IsZero() {
				return t
			}
		}
		year, month, day = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC).Date()
	}
	return time.Time{}
}

func (c *Cron) dayFits(year int, month time.Month, day int) bool {
	if c.month&(1<<month) == 0 {
		return false
	}
	inMonth := c.day&(1<<day) != 0
	inWeek := c.weekday&(1<<time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) != 0
	if c.anyDay || c.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// within is the first time of a day that is after a moment.
func (c *Cron) within(year int, month time.Month, day int, after time.Time) time.Time {
	for hours := c.hour; hours != 0; hours &= hours - 1 {
		for minutes := c.minute; minutes != 0; minutes &= minutes - 1 {
			t := time.Date(year, month, day, bits.TrailingZeros64(hours), bits.TrailingZeros64(minutes), 0, 0, c.zone)
			if t.After(after) {
				return t.UTC()
			}
		}
	}
	return time.Time{}
}
