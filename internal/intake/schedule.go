package intake

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CheckSchedule refuses a schedule that makes no sense, and says when it comes
// next after now.
func CheckSchedule(s *junctor.Schedule, now time.Time) error {
	if err := junctor.CheckScheduleName(s.Name); err != nil {
		return err
	}
	cron, err := ParseCron(s.Cron, s.Timezone)
	if err != nil {
		return err
	}
	e := junctor.Event{Source: sourceOfSchedule(s.Name), Type: s.Type, Agent: s.Agent, Data: s.Data}
	if err := e.Check(); err != nil {
		return err
	}
	s.NextAt = cron.Next(now)
	return nil
}

// NextTimes are the first times from now on that a cron expression names.
func (in *Intake) NextTimes(text, zone string, count int) ([]time.Time, error) {
	cron, err := ParseCron(text, zone)
	if err != nil {
		return nil, err
	}
	list := []time.Time{}
	for at := cron.Next(in.Now()); len(list) < count && !at.IsZero(); at = cron.Next(at) {
		list = append(list, at)
	}
	return list, nil
}

func sourceOfSchedule(name string) string { return "schedule:" + name }

// due takes the events of schedules whose time has come. What was missed while
// nothing ran comes once.
func (in *Intake) due(ctx context.Context) {
	list, err := in.Store.DueSchedules(ctx, in.Now())
	if err != nil {
		if ctx.Err() == nil {
			in.Log.WarnContext(ctx, "schedules could not be looked at", "error", err.Error())
		}
		return
	}
	for i := range list {
		s := &list[i]
		if err := in.come(ctx, s); err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "a schedule could not be kept", "schedule", s.Name, "error", err.Error())
		}
	}
}

func (in *Intake) come(ctx context.Context, s *junctor.Schedule) error {
	cron, err := ParseCron(s.Cron, s.Timezone)
	if err != nil {
		return err
	}
	e := junctor.Event{
		Tenant: s.Tenant, Source: sourceOfSchedule(s.Name), Type: s.Type, Agent: s.Agent, Data: s.Data,
		DedupeKey: s.NextAt.UTC().Format(time.RFC3339),
	}
	plan, err := in.plan(ctx, &e)
	if err != nil {
		return err
	}
	return in.Write(ctx, func(ctx context.Context, on Booking) error {
		moved, err := in.Store.For(s.Tenant).MoveSchedule(ctx, on, s.Name, s.NextAt, cron.Next(in.Now()))
		if err != nil || !moved { // another process was faster
			return err
		}
		_, err = in.book(ctx, on, &e, plan)
		return err
	})
}
