package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/object"
)

func otherContracts() []contract {
	return []contract{addressContract(), versionContract(), firstPointerContract(), pointerContract(), auditContract()}
}

func addressContract() contract {
	scope := func(who int) object.Scope {
		return object.Scope{Tenant: fmt.Sprint("tenant", who), Environment: "test"}
	}
	return contract{
		name: "claim of an address", call: "write config", other: is(config.ErrChanged),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.ClaimAddress(ctx, "woo-shop", scope(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			got, err := table.Address(t.Context(), "woo-shop")
			if err != nil {
				t.Fatal(err)
			}
			same(t, "scope", scope(who), got)
		},
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.ClaimAddress(t.Context(), "other", scope(0)))
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another environment": func(ctx context.Context, table *dynamo.Table) error {
				return table.ClaimAddress(ctx, "other", object.Scope{Tenant: "tenant0", Environment: "production"})
			},
		},
	}
}

func versionContract() contract {
	version := func(who int) config.Version {
		return config.Version{Scope: shop, Kind: "recipe", Name: "product-card", Version: 3, JSON: fmt.Appendf(nil, `{"by":%d}`, who), Digest: fmt.Sprint(who)}
	}
	return contract{
		name: "version of the configuration", call: "write config", other: is(config.ErrChanged),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.PutVersion(ctx, version(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			got, err := table.Version(t.Context(), shop, "recipe", "product-card", 3)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "JSON", string(version(who).JSON), string(got))
		},
	}
}

func pointer(who int) config.Pointer {
	return config.Pointer{Common: who, Endpoints: map[string]int{"woo-shop": 2}, Recipes: map[string]int{"product-card": 3}}
}

func pointerStands(t *testing.T, table *dynamo.Table, who, revision int) {
	t.Helper()
	got, err := table.Pointer(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	want := pointer(who)
	want.Revision = revision
	same(t, "pointer", want, got)
}

func firstPointerContract() contract {
	return contract{
		name: "first pointer", call: "write config", other: is(config.ErrChanged),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.MovePointer(ctx, shop, 0, pointer(who), writeID(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) { pointerStands(t, table, who, 1) },
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"a revision that was never there": func(ctx context.Context, table *dynamo.Table) error {
				return table.MovePointer(ctx, shop, 4, pointer(0), writeID(0))
			},
		},
	}
}

func pointerContract() contract {
	c := firstPointerContract()
	c.name = "next pointer"
	c.before = func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
		if err := table.MovePointer(t.Context(), shop, 0, pointer(100), writeID(100)); err != nil {
			t.Fatal(err)
		}
	}
	c.write = func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.MovePointer(ctx, shop, 1, pointer(who), writeID(who))
	}
	c.effect = func(t *testing.T, table *dynamo.Table, who int) { pointerStands(t, table, who, 2) }
	c.refused["an older revision"] = func(ctx context.Context, table *dynamo.Table) error {
		return table.MovePointer(ctx, shop, 0, pointer(0), writeID(0))
	}
	return c
}

func auditContract() contract {
	entry := func(who int) audit.Entry {
		return audit.Entry{Scope: shop, At: later(1), ID: "act_1", By: fmt.Sprint("person", who), Act: "redrive", Target: work.String(), Reason: "asked to", ExpiresAt: later(1000)}
	}
	return contract{
		name: "audit", call: "audit", other: is(audit.ErrOther),
		write: func(ctx context.Context, table *dynamo.Table, who int) error { return table.Audit(ctx, entry(who)) },
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			got, err := table.AuditTrail(t.Context(), shop, noon)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "trail", []audit.Entry{entry(who)}, got)
		},
	}
}

func TestNothingIsConfigured(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		_, address := table.Address(t.Context(), "woo-shop")
		_, pointer := table.Pointer(t.Context(), shop)
		_, version := table.Version(t.Context(), shop, "recipe", "product-card", 3)
		for what, err := range map[string]error{"address": address, "pointer": pointer, "version": version} {
			if !errors.Is(err, config.ErrUnknown) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
