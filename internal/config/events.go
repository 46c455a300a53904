package config

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Trigger is a trigger that a file declares. Whether its template and
// conditions are valid, and whether its server exists, is checked by the
// instance. The same holds for sources and schedules.
type Trigger struct {
	Where string // file:line:column of its name
	junctor.Trigger
}

// Source is an event source that a file declares. Printing one does not show
// its secret.
type Source struct {
	Where string
	junctor.Source

	secret *string // behind a pointer, so that printing a Source does not show it
}

// Schedule is a schedule as a file declares it.
type Schedule struct {
	Where string
	junctor.Schedule
}

// Secret returns the secret that authenticates messages of the source, as the
// file has it: a reference, or the secret itself. It is "" if the file has
// none.
func (s Source) Secret() string {
	if s.secret == nil {
		return ""
	}
	return *s.secret
}

// hasLiteralSecret reports whether the secret is in the file itself.
func (s Source) hasLiteralSecret() bool { return s.Secret() != "" && !isReference(s.Secret()) }

// AddEvents adds stored triggers, sources and schedules to d, without owners
// and times. The secret of a source is sealed, so a reference to an environment
// variable takes its place; the result lists these variables. An empty list is
// not mentioned in the file, so applying the file removes nothing of that kind.
func (d *Declared) AddEvents(triggers []junctor.Trigger, sources []junctor.Source, schedules []junctor.Schedule) (sealed []Variable) {
	for _, t := range triggers {
		d.Triggers = append(d.Triggers, Trigger{Trigger: junctor.DeclaredPart(t)})
	}
	for _, s := range schedules {
		d.Schedules = append(d.Schedules, Schedule{Schedule: junctor.DeclaredPart(s)})
	}
	taken := map[string]bool{}
	for _, v := range d.listVariables() {
		taken[v.Name] = true
	}
	for _, s := range sources {
		name := makeVariableName("source_"+s.ID, "SECRET", taken)
		sealed = append(sealed, Variable{name, []string{sourceSecretPath(s.ID)}})
		secret := "env:" + name
		d.Sources = append(d.Sources, Source{secret: &secret, Source: junctor.DeclaredPart(s)})
	}
	return sealed
}

// sourceSecretPath returns the place of a source's secret in a file, for users.
func sourceSecretPath(id string) string { return "sources." + id + ".secret" }

// readTriggers reads the map below triggers.
func (l *loader) readTriggers(d *document, n *yaml.Node) {
	l.config.declared.Triggers = readNamed(d, n, "triggers", junctor.CheckTriggerName, d.readTrigger)
}

// readSources reads the map below sources.
func (l *loader) readSources(d *document, n *yaml.Node) {
	l.config.declared.Sources = readNamed(d, n, "sources", junctor.CheckSourceID, d.readSource)
}

// readSchedules reads the map below schedules.
func (l *loader) readSchedules(d *document, n *yaml.Node) {
	l.config.declared.Schedules = readNamed(d, n, "schedules", junctor.CheckScheduleName, d.readSchedule)
}

// readNamed reads a map of things by their names, sorted by name. check judges
// a name, and read reads the value. A thing with a problem is left out.
func readNamed[T any](d *document, n *yaml.Node, key string, check func(string) error, read func(member) T) []T {
	out := []T{}
	members := d.listMembers(n, key)
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key.Value, b.key.Value) })
	for _, m := range members {
		if err := check(m.key.Value); err != nil {
			d.addProblem(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		before := len(d.loader.problems)
		if one := read(m); len(d.loader.problems) == before {
			out = append(out, one)
		}
	}
	return out
}

// readTrigger reads one trigger. The members are those of the admin API.
func (d *document) readTrigger(m member) Trigger {
	t := Trigger{Where: d.nodePosition(m.key), Trigger: junctor.Trigger{Name: m.key.Value}}
	acts := false
	path := "triggers." + t.Name
	known := d.structFields(&t.Trigger)
	action := known["action"]
	known["action"] = func(n *yaml.Node, path string) {
		acts = true
		action(n, path)
	}
	d.readObject(m.value, path, known)
	if !acts {
		d.addProblem(m.key, "%s has no action: set action to the tool that it calls", path)
	}
	return t
}

// readSource reads one source. Its style is required.
func (d *document) readSource(m member) Source {
	s := Source{Where: d.nodePosition(m.key), Source: junctor.Source{ID: m.key.Value}, secret: new(string)}
	path := "sources." + s.ID
	before := len(d.loader.problems)
	known := d.structFields(&s.Source)
	known["secret"] = d.textField(s.secret)
	d.readObject(m.value, path, known)
	if s.Style == "" && len(d.loader.problems) == before {
		d.addProblem(m.key, "%s has no style: use one of %s", path, wordsOf(s.Source, "style"))
	}
	return s
}

// readSchedule reads one schedule. Its times and the type of its events are
// required.
func (d *document) readSchedule(m member) Schedule {
	s := Schedule{Where: d.nodePosition(m.key), Schedule: junctor.Schedule{Name: m.key.Value}}
	path := "schedules." + s.Name
	before := len(d.loader.problems)
	d.readObject(m.value, path, d.structFields(&s.Schedule))
	if (s.Cron == "" || s.Type == "") && len(d.loader.problems) == before {
		d.addProblem(m.key, "%s needs cron (the times of its events) and type (their event type)", path)
	}
	return s
}

// fileEvents adds triggers, sources and schedules to a file. A list that is nil
// is not mentioned.
func (d Declared) fileEvents(out *fileDeclared) {
	if d.Triggers != nil {
		triggers := map[string]fileObject{}
		for _, t := range d.Triggers {
			triggers[t.Name] = fileObject{of: t.Trigger}
		}
		out.Triggers = &triggers
	}
	if d.Sources != nil {
		sources := map[string]fileObject{}
		for _, s := range d.Sources {
			one := fileObject{of: s.Source}
			if secret := s.Secret(); secret != "" {
				one.more = []fileMember{{"secret", secret}}
			}
			sources[s.ID] = one
		}
		out.Sources = &sources
	}
	if d.Schedules != nil {
		schedules := map[string]fileObject{}
		for _, s := range d.Schedules {
			schedules[s.Name] = fileObject{of: s.Schedule}
		}
		out.Schedules = &schedules
	}
}
