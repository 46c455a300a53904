package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Trigger is a trigger as a file declares it. Whether its template and its
// conditions make sense, and whether there is its server, is for the instance to
// say; so it is with the others.
type Trigger struct {
	Where string // file:line:column of its name
	junctor.Trigger
}

// Source is a source as a file declares it. Printing one does not show its secret.
type Source struct {
	Where string
	junctor.Source

	secret *string // behind a pointer: it may be one
}

// Schedule is a schedule as a file declares it.
type Schedule struct {
	Where string
	junctor.Schedule
}

// Secret is what the source is known by, as the file has it: a reference, or the
// secret itself; "" where the file says nothing of it.
func (s Source) Secret() string {
	if s.secret == nil {
		return ""
	}
	return *s.secret
}

func (s Source) literal() bool { return s.Secret() != "" && !isReference(s.Secret()) }

// AddEvents has d declare what concerns events too: not who made it, nor when. A
// source's secret is sealed: in its place is a variable to read it from, and
// those are listed. A list that is empty is not spoken of.
func (d *Declared) AddEvents(triggers []junctor.Trigger, sources []junctor.Source, schedules []junctor.Schedule) (sealed []Variable) {
	for _, t := range triggers {
		d.Triggers = append(d.Triggers, Trigger{Trigger: junctor.Trigger{Name: t.Name, Title: t.Title, Match: t.Match, Action: t.Action, Disabled: t.Disabled}})
	}
	for _, s := range schedules {
		d.Schedules = append(d.Schedules, Schedule{Schedule: junctor.Schedule{Name: s.Name, Cron: s.Cron, Timezone: s.Timezone, Type: s.Type, Agent: s.Agent, Data: s.Data, Disabled: s.Disabled}})
	}
	taken := map[string]bool{}
	for _, v := range d.variables() {
		taken[v.Name] = true
	}
	for _, s := range sources {
		name := variableName("source_"+s.ID, "SECRET", taken)
		sealed = append(sealed, Variable{name, []string{placeOfSecret(s.ID)}})
		secret := "env:" + name
		d.Sources = append(d.Sources, Source{secret: &secret, Source: junctor.Source{
			ID: s.ID, Style: s.Style, Title: s.Title, Header: s.Header, TypeField: s.TypeField, AgentField: s.AgentField, Key: s.Key, Disabled: s.Disabled,
		}})
	}
	return sealed
}

func placeOfSecret(id string) string { return "sources." + id + ".secret" }

// triggers reads the map below triggers.
func (l *loader) triggers(d *document, n *yaml.Node) {
	l.config.declared.Triggers = named(d, n, "triggers", junctor.CheckTriggerName, d.trigger)
}

// sources reads the map below sources.
func (l *loader) sources(d *document, n *yaml.Node) {
	l.config.declared.Sources = named(d, n, "sources", junctor.CheckSourceID, d.source)
}

// schedules reads the map below schedules.
func (l *loader) schedules(d *document, n *yaml.Node) {
	l.config.declared.Schedules = named(d, n, "schedules", junctor.CheckScheduleName, d.schedule)
}

// named reads a map of things by their names, in the order of these. What has a
// problem is not among them.
func named[T any](d *document, n *yaml.Node, key string, check func(string) error, read func(member) T) []T {
	out := []T{}
	members := d.members(n, key)
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key.Value, b.key.Value) })
	for _, m := range members {
		if err := check(m.key.Value); err != nil {
			d.fault(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		before := len(d.l.problems)
		if one := read(m); len(d.l.problems) == before {
			out = append(out, one)
		}
	}
	return out
}

// trigger reads one trigger: the members are those of the admin API.
func (d *document) trigger(m member) Trigger {
	t := Trigger{Where: d.at(m.key), Trigger: junctor.Trigger{Name: m.key.Value}}
	acts := false
	path := "triggers." + t.Name
	d.object(m.value, path, fields{
		"title": d.title(&t.Title),
		"match": d.match(&t.Match),
		"action": func(n *yaml.Node, path string) {
			acts = true
			d.action(&t.Action)(n, path)
		},
		"disabled": d.truth(&t.Disabled),
	})
	if !acts {
		d.fault(m.key, "%s has no action: say which tool is called", path)
	}
	return t
}

func (d *document) match(to *junctor.Match) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		d.object(n, path, fields{
			"source": d.text(&to.Source), "type": d.text(&to.Type), "agent": d.text(&to.Agent), "tags": d.list(&to.Tags, "tags, all of which an event must have"),
			"min_value": d.bound(&to.MinValue), "max_value": d.bound(&to.MaxValue), "where": d.conditions(&to.Where),
		})
	}
}

func (d *document) bound(to **float64) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		*to = new(float64)
		d.decimal(*to)(n, path)
	}
}

func (d *document) conditions(to *[]junctor.Condition) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.fault(n, "%s must be a list of conditions, such as [{field: data.state, op: '=', value: open}]", path)
			return
		}
		for i, item := range n.Content {
			var c junctor.Condition
			d.object(resolved(item), fmt.Sprintf("%s[%d]", path, i), fields{"field": d.text(&c.Field), "op": d.text(&c.Op), "value": d.value((*[]byte)(&c.Value))})
			*to = append(*to, c)
		}
	}
}

func (d *document) action(to *junctor.Action) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		d.object(n, path, fields{
			"server": d.text(&to.Server), "agent": d.text(&to.Agent), "resolve": d.text(&to.Resolve), "tool": d.text(&to.Tool), "template": d.value((*[]byte)(&to.Template)),
			"batch": d.number(&to.Batch), "batch_wait_ms": d.number(&to.BatchWaitMS), "timeout_ms": d.number(&to.TimeoutMS), "attempts": d.number(&to.Attempts),
			"retry_errors": d.truth(&to.RetryErrors), "sign": d.truth(&to.Sign), "raise": d.truth(&to.Raise),
			"order_key": d.text(&to.OrderKey), "skip_after": d.number(&to.SkipAfter),
			"include_file_content": d.truth(&to.IncludeFile), "verify_file_hash": d.truth(&to.VerifyFile), "file_attempts": d.number(&to.FileAttempts),
		})
	}
}

// source reads one source.
func (d *document) source(m member) Source {
	s := Source{Where: d.at(m.key), Source: junctor.Source{ID: m.key.Value}, secret: new(string)}
	path := "sources." + s.ID
	var style string
	styles := make([]string, 0, len(junctor.SourceStyles()))
	for _, one := range junctor.SourceStyles() {
		styles = append(styles, string(one))
	}
	before := len(d.l.problems)
	d.object(m.value, path, fields{
		"style": d.choice(&style, styles...), "title": d.title(&s.Title), "secret": d.text(s.secret), "header": d.text(&s.Header),
		"type_field": d.text(&s.TypeField), "agent_field": d.text(&s.AgentField), "key": d.text(&s.Key), "disabled": d.truth(&s.Disabled),
	})
	if s.Style = junctor.SourceStyle(style); style == "" && len(d.l.problems) == before {
		d.fault(m.key, "%s has no style: use one of %s", path, strings.Join(styles, ", "))
	}
	return s
}

// schedule reads one schedule.
func (d *document) schedule(m member) Schedule {
	s := Schedule{Where: d.at(m.key), Schedule: junctor.Schedule{Name: m.key.Value}}
	path := "schedules." + s.Name
	before := len(d.l.problems)
	d.object(m.value, path, fields{
		"cron": d.text(&s.Cron), "timezone": d.text(&s.Timezone), "type": d.text(&s.Type), "agent": d.text(&s.Agent), "data": d.value((*[]byte)(&s.Data)), "disabled": d.truth(&s.Disabled),
	})
	if (s.Cron == "" || s.Type == "") && len(d.l.problems) == before {
		d.fault(m.key, "%s needs cron, when events come, and type, of which type they are", path)
	}
	return s
}

// fileTrigger is a trigger as it is written to a file: as the admin API has it.
type fileTrigger struct {
	Title    string         `json:"title,omitempty"`
	Match    junctor.Match  `json:"match"`
	Action   junctor.Action `json:"action"`
	Disabled bool           `json:"disabled,omitempty"`
}

type fileSource struct {
	Style      junctor.SourceStyle `json:"style"`
	Title      string              `json:"title,omitempty"`
	Secret     string              `json:"secret,omitempty"`
	Header     string              `json:"header,omitempty"`
	TypeField  string              `json:"type_field,omitempty"`
	AgentField string              `json:"agent_field,omitempty"`
	Key        string              `json:"key,omitempty"`
	Disabled   bool                `json:"disabled,omitempty"`
}

type fileSchedule struct {
	Cron     string       `json:"cron"`
	Timezone string       `json:"timezone,omitempty"`
	Type     string       `json:"type"`
	Agent    string       `json:"agent,omitempty"`
	Data     junctor.JSON `json:"data,omitempty"`
	Disabled bool         `json:"disabled,omitempty"`
}

// MarshalYAML writes it as the JSON is.
func (f fileTrigger) MarshalYAML() (any, error) { return asYAML(f) }

// MarshalYAML writes it as the JSON is.
func (f fileSource) MarshalYAML() (any, error) { return asYAML(f) }

// MarshalYAML writes it as the JSON is.
func (f fileSchedule) MarshalYAML() (any, error) { return asYAML(f) }

// fileEvents adds what concerns events to a file.
func (d Declared) fileEvents(out *fileDeclared) {
	if d.Triggers != nil {
		triggers := map[string]fileTrigger{}
		for _, t := range d.Triggers {
			triggers[t.Name] = fileTrigger{t.Title, t.Match, t.Action, t.Disabled}
		}
		out.Triggers = &triggers
	}
	if d.Sources != nil {
		sources := map[string]fileSource{}
		for _, s := range d.Sources {
			sources[s.ID] = fileSource{s.Style, s.Title, s.Secret(), s.Header, s.TypeField, s.AgentField, s.Key, s.Disabled}
		}
		out.Sources = &sources
	}
	if d.Schedules != nil {
		schedules := map[string]fileSchedule{}
		for _, s := range d.Schedules {
			schedules[s.Name] = fileSchedule{s.Cron, s.Timezone, s.Type, s.Agent, junctor.JSON(s.Data), s.Disabled}
		}
		out.Schedules = &schedules
	}
}
