package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"engang/shared/config"
	"engang/shared/object"
)

// ClaimAddress gives the endpoint address of this name to a scope, for good. It returns
// [config.ErrChanged] when another scope has it.
func (t *Table) ClaimAddress(ctx context.Context, name string, s object.Scope) error {
	it := item{"ten": str(s.Tenant), "env": str(s.Environment)}
	given := item{":tenant": str(s.Tenant), ":environment": str(s.Environment)}
	return changed("claim address of endpoint "+name, t.put(ctx, claimAddress, addressKey(name), it, given))
}

// Address reads which scope has the endpoint address of this name. It returns [config.ErrUnknown] if none has.
func (t *Table) Address(ctx context.Context, name string) (object.Scope, error) {
	r, err := t.configured(ctx, addressKey(name))
	if err != nil {
		return object.Scope{}, fmt.Errorf("read address of endpoint %s: %w", name, err)
	}
	s := object.Scope{Tenant: r.text("ten"), Environment: r.text("env")}
	return s, r.err
}

// Pointer reads which versions are live in a scope. It returns [config.ErrUnknown] if nothing was applied.
func (t *Table) Pointer(ctx context.Context, s object.Scope) (config.Pointer, error) {
	r, err := t.configured(ctx, pointerKey(s))
	if err != nil {
		return config.Pointer{}, fmt.Errorf("read pointer of %s: %w", s, err)
	}
	var p config.Pointer
	r.json("json", &p)
	return p, r.err
}

// MovePointer makes other versions live, all at once, in place of the pointer whose revision was seen;
// zero means that there was none. The revision that is stored is one more, whatever p says. It returns
// [config.ErrChanged] when somebody moved it meanwhile; our own move whose answer was lost is success.
func (t *Table) MovePointer(ctx context.Context, s object.Scope, seenRevision int, p config.Pointer, writeID string) error {
	p.Revision = seenRevision + 1
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("move pointer of %s: %w", s, err)
	}
	it := item{"rev": num(p.Revision), "json": str(string(text)), "wid": str(writeID)}
	write, given := movePointer, item{":seen": num(seenRevision)}
	if seenRevision == 0 {
		write, given = firstPointer, nil
	}
	err = t.put(ctx, write, pointerKey(s), it, given)
	if refused, ok := errors.AsType[*refusal](err); ok {
		if r := (&reader{it: refused.stored}); r.text("wid") == writeID {
			return nil
		}
	}
	return changed("move pointer of "+s.String(), err)
}

// PutVersion stores one version. The same content again is success; other content under the version
// returns [config.ErrChanged].
func (t *Table) PutVersion(ctx context.Context, v config.Version) error {
	it := item{"json": str(string(v.JSON)), "dig": str(v.Digest)}
	err := t.put(ctx, putVersion, versionKey(v), it, nil)
	if refused, ok := errors.AsType[*refusal](err); ok {
		if r := (&reader{it: refused.stored}); r.text("dig") == v.Digest {
			return nil
		}
	}
	return changed(fmt.Sprintf("store %s %s version %d", v.Kind, v.Name, v.Version), err)
}

// Version reads one version. It returns [config.ErrUnknown] if it was never stored.
func (t *Table) Version(ctx context.Context, s object.Scope, kind, name string, version int) ([]byte, error) {
	r, err := t.configured(ctx, versionKey(config.Version{Scope: s, Kind: kind, Name: name, Version: version}))
	if err != nil {
		return nil, fmt.Errorf("read %s %s version %d: %w", kind, name, version, err)
	}
	text := r.text("json")
	return []byte(text), r.err
}

func (t *Table) configured(ctx context.Context, k key) (*reader, error) {
	it, err := t.read(ctx, k)
	if err != nil {
		return nil, err
	}
	if len(it) == 0 {
		return nil, config.ErrUnknown
	}
	return &reader{it: it}, nil
}

// changed makes a refused condition [config.ErrChanged], and wraps what is something else.
func changed(act string, err error) error {
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*refusal](err); refused {
		err = config.ErrChanged
	}
	return fmt.Errorf("%s: %w", act, err)
}
