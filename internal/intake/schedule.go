package intake

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CheckSchedule checks a schedule, and sets its next time after now.
func CheckSchedule(s *junctor.Schedule, now time.Time) error {
	if err := junctor.CheckScheduleName(s.Name); err != nil {
		return err
	}
	cron, err := ParseCron(s.Cron, s.Timezone)
	if err != nil {
		return err
	}
	e := junctor.Event{Source: scheduleSource(s.Name), Type: s.Type, Agent: s.Agent, Data: s.Data}
	if err := e.Check(); err != nil {
		return err
	}
	s.NextAt = cron.Next(now)
	return nil
}

// NextTimes returns the next times of a cron expression, at most count.
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

// scheduleSource is the source of a schedule's events.
func scheduleSource(name string) string { return "schedule:" + name }

// fireDueSchedules stores the events of schedules that are due. Times that were
// missed while no replica ran are made up for by one event.
func (in *Intake) fireDueSchedules(ctx context.Context) {
	list, err := in.Store.DueSchedules(ctx, in.Now())
	if err != nil {
		if ctx.Err() == nil {
			in.Log.WarnContext(ctx, "cannot read the schedules; retrying", "error", err.Error())
		}
		return
	}
	for i := range list {
		s := &list[i]
		if err := in.fireSchedule(ctx, s); err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "cannot store the next time of a schedule", "schedule", s.Name, "error", err.Error())
		}
	}
}

// fireSchedule stores the event of one schedule and moves the schedule to its
// next time, in one transaction.
func (in *Intake) fireSchedule(ctx context.Context, s *junctor.Schedule) error {
	cron, err := ParseCron(s.Cron, s.Timezone)
	if err != nil {
		return err
	}
	e := junctor.Event{
		Tenant: s.Tenant, Source: scheduleSource(s.Name), Type: s.Type, Agent: s.Agent, Data: s.Data,
		// The planned time is the key: two replicas that fire it store one
		// event.
		DedupeKey: s.NextAt.UTC().Format(time.RFC3339),
	}
	plan, err := in.planEvent(ctx, &e)
	if err != nil {
		return err
	}
	return in.Write(ctx, func(ctx context.Context, on Booking) error {
		moved, err := in.Store.For(s.Tenant).MoveSchedule(ctx, on, s.Name, s.NextAt, cron.Next(in.Now()))
		if err != nil || !moved { // another replica was faster
			return err
		}
		_, err = in.storeEvent(ctx, on, &e, plan)
		return err
	})
}
