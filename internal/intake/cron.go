package intake

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Cron is the times of a schedule. Its five fields are minute, hour, day of the
// month, month and day of the week. A field is *, a number, a range such as
// 1-5, any of these with a step such as */15, or a list of them with commas.
// Months and days of the week may be names; Sunday is 0 and 7. If both day
// fields are restricted, either is enough. @hourly, @daily, @weekly, @monthly
// and @yearly are supported too.
type Cron struct {
	minute, hour, day, month, weekday uint64 // one bit per value
	isAnyDay, isAnyWeekday            bool
	zone                              *time.Location
}

// cronField describes one field.
type cronField struct {
	name     string
	min, max int
	names    []string // names of the values from min on
}

// cronFields returns the fields in their order.
func cronFields() [5]cronField {
	return [5]cronField{
		{"minute", 0, 59, nil},
		{"hour", 0, 23, nil},
		{"day of the month", 1, 31, nil},
		{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// ParseCron parses a schedule. zone is a name such as Europe/Berlin; "" means
// UTC. A schedule that never occurs, such as the 30th of February, is an error.
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
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a time zone: use a name such as Europe/Berlin, or omit it for UTC", zone)
	}
	words := strings.Fields(text)
	if len(words) != 5 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a schedule: write five fields, minute hour day month weekday, such as 0 9 * * mon-fri", text)
	}
	c := &Cron{zone: place}
	for i, to := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.weekday} {
		f := cronFields()[i]
		if *to, err = f.parseField(strings.ToLower(words[i])); err != nil {
			return nil, err
		}
	}
	c.isAnyDay, c.isAnyWeekday = strings.HasPrefix(words[2], "*"), strings.HasPrefix(words[4], "*")
	if c.weekday&(1<<7) != 0 { // Sunday
		c.weekday |= 1
	}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the schedule %q never fires: no month has such a day", text)
	}
	return c, nil
}

// parseField parses one field into a set of bits.
func (f *cronField) parseField(word string) (set uint64, err error) {
	fault := func() error {
		return junctor.Errorf(junctor.CodeInvalid, "the %s %q of a schedule is invalid: use *, a number from %d to %d, a range such as 1-5, a step such as */15, or several with commas", f.name, word, f.min, f.max)
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
			if from, ok = f.parseValue(low); !ok {
				return 0, fault()
			}
			switch {
			case isRange:
				if to, ok = f.parseValue(high); !ok || to < from {
					return 0, fault()
				}
			// A single number. With a step, as in 5/15, it is the begin of a
			// range.
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

// parseValue parses a number or a name.
func (f *cronField) parseValue(word string) (int, bool) {
	for i, name := range f.names {
		if word == name {
			return f.min + i, true
		}
	}
	v, err := strconv.Atoi(word)
	return v, err == nil && v >= f.min && v <= f.max && word[0] != '+' && word[0] != '-'
}

// Next returns the first time after a moment; zero if there is none within nine
// years. A time that a change of the clocks skips occurs at the moment it would
// have been. A time that occurs twice counts once.
func (c *Cron) Next(after time.Time) time.Time {
	local := after.In(c.zone)
	year, month, day := local.Date()
	for range 366 * 9 { // 29 February may be eight years away, around a year such as 2100
		if c.includesDay(year, month, day) {
			if t := c.firstTimeOfDay(year, month, day, after); !t.IsZero() {
				return t
			}
		}
		year, month, day = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC).Date()
	}
	return time.Time{}
}

// includesDay reports whether the schedule occurs on a day.
func (c *Cron) includesDay(year int, month time.Month, day int) bool {
	if c.month&(1<<month) == 0 {
		return false
	}
	inMonth := c.day&(1<<day) != 0
	inWeek := c.weekday&(1<<time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) != 0
	if c.isAnyDay || c.isAnyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// firstTimeOfDay returns the first time on a day that is after a moment; zero
// if there is none.
func (c *Cron) firstTimeOfDay(year int, month time.Month, day int, after time.Time) time.Time {
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
