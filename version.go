package junctor

import "time"

// CheckVersion returns an error if a change was made for a version other than
// the stored one. The version of a stored thing is its UpdatedAt; a zero want
// accepts every version.
func CheckVersion(want, have time.Time) error {
	if want.IsZero() || want.Equal(have) {
		return nil
	}
	return Errorf(CodePrecondition, "the object was changed after the version that this change is based on; read it again and repeat the change")
}
