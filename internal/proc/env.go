package proc

import "runtime"

// baseEnv is the environment that every process gets: where programs, the home
// directory and temporary files are, and the language. All else must be named.
func baseEnv(lookup func(string) (string, bool)) []string {
	var env []string
	for _, name := range baseNames() {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// baseNames are the variables of that environment.
func baseNames() []string {
	names := []string{"PATH", "HOME", "LANG", "TMPDIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "USERPROFILE", "TEMP", "TMP", "SYSTEMROOT")
	}
	return names
}
