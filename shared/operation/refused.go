package operation

import "errors"

// ErrRefused is what every [RefusedError] is: use errors.AsType[*RefusedError] for how the operation stands.
var ErrRefused = errors.New("refused by the operation's state")

// Is makes errors.Is(err, ErrRefused) true.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
