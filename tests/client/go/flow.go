package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	identity "identity-service-client"
)

func service(name string) identity.UpdateDidRequest {
	endpoint := identity.ServiceInput{Id: name, Type: "LinkedDomains", ServiceEndpoint: "https://hana.example/"}
	return identity.UpdateDidRequest{Operation: identity.Ptr("addService"), Service: &endpoint}
}

// codeOf is what a refusal says.
func codeOf(_ identity.UpdatedDid, err error) []any {
	var refused *identity.IdentityError
	if !errors.As(err, &refused) {
		panic(err)
	}
	return []any{refused.Status, refused.Code, refused.RequestID()}
}

// flow is a life of a DID through the client: the test looks at what it answers.
func flow(ctx context.Context, options identity.Options) (any, error) {
	var requests, responses atomic.Int64
	options.OnRequest = func(request *http.Request) {
		requests.Add(1)
		request.Header.Set("X-Request-ID", "seen-by-the-hook")
	}
	options.OnResponse = func(*http.Response) { responses.Add(1) }
	id := identity.New(options)
	created := identity.Must(id.CreateDid(ctx, identity.CreateDidRequest{
		Method: "ids", Options: &identity.CreateDidOptions{RecoveryKey: identity.Ptr(true)},
	}))
	did, hana := created.Did, identity.Must(identity.SignerOf(created))
	identity.Must(id.As(hana).UpdateDid(ctx, did, service("files")))
	rotated := identity.Must(id.As(hana).RotateDidKey(ctx, did, identity.RotateDidKeyRequest{
		OldKeyId: created.Keys.Authentication.KeyId, NewKeyType: "Ed25519VerificationKey2020",
	}))
	refused := codeOf(id.As(hana).UpdateDid(ctx, did, service("notes")))
	unsigned := codeOf(id.UpdateDid(ctx, did, service("notes")))
	next := identity.Must(identity.NewSigner(did, rotated.NewKey.PrivateKey))
	resolved := identity.Must(id.ResolveIdentifier(ctx, did, identity.ResolveIdentifierParams{VersionId: identity.Ptr[int64](3)}))
	identity.Must(id.As(next).UpdateDid(ctx, did, service("notes")))
	spare := identity.Must(id.CreateDid(ctx, identity.CreateDidRequest{Method: "ids"})).Keys.Authentication
	byRecovery := id.As(identity.Must(identity.NewSigner(did, created.Keys.Recovery.PrivateKey)))
	identity.Must(byRecovery.RecoverDid(ctx, did, identity.RecoverDidRequest{
		NewAuthenticationKey:  identity.VerificationMethodInput{Type: "Ed25519VerificationKey2020", PublicKeyMultibase: spare.PublicKey},
		RevokeAllExistingKeys: identity.Ptr(true),
	}))
	last := id.As(identity.Must(identity.NewSigner(did, spare.PrivateKey)))
	var history []string
	keep := func(version identity.DidVersion) error {
		history = append(history, version.Operation)
		return nil
	}
	if err := id.EachListDidHistory(ctx, did, keep, identity.ListDidHistoryParams{Limit: 2}); err != nil {
		return nil, err
	}
	identity.Must(last.DeactivateDid(ctx, did, identity.DeactivateDidRequest{Confirm: true, Reason: identity.Ptr("☂ is über")}))
	// The entries of this method hold no evidence.
	plain := identity.Must(id.CreateDid(ctx, identity.CreateDidRequest{Method: "key"})).Did
	log := identity.Must(id.GetDidLog(ctx, did))
	found := identity.Must(identity.VerifyLog(log, identity.LogCheck{DID: did, Now: time.Now().Add(time.Minute)}))
	return map[string]any{
		"did": did, "log": log, "history": history, "rotation": resolved.DidDocumentMetadata.VersionId,
		"versions": found.Versions, "deactivated": found.Deactivated, "refused": refused, "unsigned": unsigned,
		"plain": plain, "hooks": []int64{requests.Load(), responses.Load()},
	}, nil
}
