package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// envPrefix is the beginning of all environment variables of Junctor.
const envPrefix = "JUNCTOR_"

// These variables are no settings: the keys, and what the command line itself
// reads.
const (
	envAdminKey = "JUNCTOR_ADMIN_KEY"
	envSealKey  = "JUNCTOR_SEAL_KEY"
	envConfig   = "JUNCTOR_CONFIG"
	envURL      = "JUNCTOR_URL"
	envKey      = "JUNCTOR_KEY"
)

// UnknownEnv returns a warning for each JUNCTOR_ variable of environ (in the
// form of os.Environ) that nothing reads, such as one with a typing error. It
// shows names, never values.
func UnknownEnv(environ []string) []string {
	known := append(listSettingNames(Setting.Env), envAdminKey, envSealKey, envConfig, envURL, envKey)
	var out []string
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			out = append(out, name+" is not a variable of Junctor and has no effect"+didYouMean(name, known))
		}
	}
	slices.Sort(out)
	return out
}

// checkAdminKey refuses a key that is easily guessed, or that an Authorization
// header cannot carry.
func checkAdminKey(key string) error {
	if len(key) < 16 {
		return errors.New("the admin key is too short: use at least 16 characters, such as the output of `openssl rand -hex 24`")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the admin key has spaces or characters that are not ASCII, which a header cannot carry: use letters and digits")
	}
	return nil
}

// defaultDataDir returns the data folder of the user on a system; "" if the
// environment names no home.
func defaultDataDir(goos string, env func(string) (string, bool)) string {
	get := func(name string) string { v, _ := env(name); return v }
	switch goos {
	case "windows":
		if dir := get("LocalAppData"); dir != "" {
			return filepath.Join(dir, "junctor")
		}
		return ""
	case "darwin":
		if home := get("HOME"); home != "" {
			return filepath.Join(home, "Library", "Application Support", "junctor")
		}
		return ""
	}
	// The XDG base directory specification says that relative values are
	// ignored.
	if dir := get("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "junctor")
	}
	if home := get("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "junctor")
	}
	return ""
}
