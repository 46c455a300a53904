package junctor

import "time"

// CheckVersion refuses a change that was made for one version of a stored thing where
// it has another one by now. The version of a thing is its UpdatedAt; a zero want is a
// change that is for whatever version there is.
func CheckVersion(want, have time.Time) error {
	if want.IsZero() || want.Equal(have) {
		return nil
	}
	return Errorf(CodePrecondition, "it was changed after the version that the change is for: read it again, and repeat the change")
}
