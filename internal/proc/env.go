package proc

import "runtime"

// baseEnv returns the environment that every process gets: the paths of programs,
// of the home directory and of temporary files, and the language. The caller must
// name every other variable.
func baseEnv(lookup func(string) (string, bool)) []string {
	var env []string
	for _, name := range baseNames() {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// baseNames returns the names of these variables.
func baseNames() []string {
	names := []string{"PATH", "HOME", "LANG", "TMPDIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "USERPROFILE", "TEMP", "TMP", "SYSTEMROOT")
	}
	return names
}
