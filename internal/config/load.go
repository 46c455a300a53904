package config

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Sources are the places that settings are read from. A flag takes precedence
// over the environment, the environment over the file, and the file over the
// default.
type Sources struct {
	Flags map[string]string                // the given flags by name; a list is a,b,c
	Env   func(name string) (string, bool) // such as os.LookupEnv; nil: an empty environment
	File  string                           // path of the file; "": the one that JUNCTOR_CONFIG names, if any
}

// Load reads and checks all settings. The error is CodeInvalid and contains
// every problem, also those of values that another source overrides. Problems
// returns them one by one. Neither contains a secret.
func Load(src Sources) (*Config, error) {
	l := newLoader(src)
	// Each source replaces the values of those before it.
	l.applyDefaults()
	l.applyFile()
	l.applyEnvironment()
	l.applyFlags()
	if len(l.problems) == 0 {
		l.checkCombinations()
	}
	if err := l.problems.toError(); err != nil {
		return nil, err
	}
	return l.config, nil
}

// newLoader returns a loader that has applied no source yet.
func newLoader(src Sources) *loader {
	if src.Env == nil {
		src.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{
		sources: src,
		config:  &Config{secrets: &secrets{}, sources: map[string]string{}, loadedFrom: src},
		byName:  map[string]Setting{},
	}
	for _, s := range Settings() {
		l.byName[s.Name] = s
	}
	return l
}

// loader builds a Config from its sources and collects the problems. It goes on
// after a problem, so that a user sees all of them at once.
type loader struct {
	sources  Sources
	config   *Config
	byName   map[string]Setting
	folder   string // of the settings file; API documents are read from there. "": none may be read
	problems problems
}

// addProblem notes a problem. where is its position, or "" if settings do not
// go together; name is the setting, if there is one.
func (l *loader) addProblem(where, name, message string) {
	l.problems = append(l.problems, Problem{Where: where, Name: name, Message: message})
}

// applyValue stores the value of a setting, or notes why it cannot.
func (l *loader) applyValue(s Setting, value, source string) {
	l.applyValueAt(s, value, source, source)
}

// applyValueAt is applyValue for a value of a file. A problem names its exact
// place, and the source that is shown names only the line.
func (l *loader) applyValueAt(s Setting, value, source, place string) {
	if err := s.set(l.config, value); err != nil {
		name := source // the flag or the variable
		if source != place {
			name = s.Key() // in the file
		}
		l.addProblem(place, s.Name, name+" "+err.Error())
		return
	}
	l.config.sources[s.Name] = source
}

// applyDefaults stores the defaults of the table, and the default data
// directory, which depends on the system.
func (l *loader) applyDefaults() {
	for _, s := range Settings() {
		if s.Default == "" {
			continue
		}
		if err := s.set(l.config, s.Default); err != nil {
			l.addProblem("default", s.Name, err.Error())
		}
	}
	l.config.DataDir = defaultDataDir(runtime.GOOS, l.sources.Env)
}

// applyEnvironment stores the values of the environment variables, and the
// keys.
func (l *loader) applyEnvironment() {
	l.applyOTelEnvironment()
	for _, s := range Settings() {
		// An empty variable counts as absent: compose files and unit files
		// pass on variables that are not set in that form.
		if value, _ := l.sources.Env(s.Env()); value != "" {
			l.applyValue(s, value, s.Env())
		}
	}
	if key, _ := l.sources.Env(envAdminKey); key != "" {
		if err := checkAdminKey(key); err != nil {
			l.addProblem(envAdminKey, "", err.Error())
		}
		l.config.secrets.adminKey = key
	}
	if key, _ := l.sources.Env(envSealKey); key != "" {
		l.config.secrets.sealKey = key
	}
}

// applyOTelEnvironment takes the address of the trace collector from the
// standard variables of OpenTelemetry. It runs before the variables of Junctor
// are read, so these take precedence.
func (l *loader) applyOTelEnvironment() {
	const whole, base = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, s := range Settings() {
		if s.Name != "otel-endpoint" {
			continue
		}
		if value, _ := l.sources.Env(whole); value != "" {
			l.applyValue(s, value, whole)
		} else if value, _ := l.sources.Env(base); value != "" {
			// The OpenTelemetry specification appends /v1/traces to the base
			// address. internal/telemetry does so for an address without a
			// path; one with a path is completed here.
			if path := strings.TrimRight(value, "/"); strings.Count(path, "/") > 2 {
				value = path + "/v1/traces"
			}
			l.applyValue(s, value, base)
		}
	}
}

// applyFlags stores the values of flags, and reports flags that are no setting.
func (l *loader) applyFlags() {
	for _, s := range Settings() {
		// Unlike a variable, a flag with an empty value counts as given.
		if value, ok := l.sources.Flags[s.Name]; ok {
			l.applyValue(s, value, "--"+s.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.sources.Flags)) {
		if _, ok := l.byName[name]; !ok {
			l.addProblem("--"+name, "", "unknown setting"+didYouMean("--"+name, listSettingNames(Setting.flagName)))
		}
	}
}

// flagName returns the name of the flag with its dashes.
func (s Setting) flagName() string { return "--" + s.Name }

// listSettingNames returns the names of all settings in one of their forms,
// such as Setting.Key.
func listSettingNames(form func(Setting) string) []string {
	all := Settings()
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = form(s)
	}
	return out
}
