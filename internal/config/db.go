package config

import (
	"errors"
	"net/url"
)

// parseDB takes the URL of a PostgreSQL database.
func parseDB(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Path == "" || u.Path == "/" {
		// The text is not repeated: it may hold a password.
		return nil, errors.New("must be the URL of a PostgreSQL database, such as postgres://user@host:5432/name")
	}
	return u, nil
}

// parseRedis takes the URL of a Redis.
func parseRedis(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.RawQuery != "" {
		return nil, errors.New("must be the URL of a Redis, such as redis://127.0.0.1:6379/0, or rediss:// for TLS")
	}
	return u, nil
}

// showDB shows the URL without its password.
func showDB(u *url.URL) string {
	if u == nil {
		return ""
	}
	shown := *u
	if q := shown.Query(); q.Has("password") {
		q.Set("password", "***")
		shown.RawQuery = q.Encode()
	}
	return shown.Redacted()
}
