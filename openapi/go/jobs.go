package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrUnbound reports an expectation that leaves out a part without which a proof could be a replay, or answer another question.
var ErrUnbound = errors.New("the proof could be a replay")

// Delegate creates a delegation of holder, who signs it. Terms need no HolderDid.
func (c *Client) Delegate(ctx context.Context, holder Signer, terms CreateDelegationRequest) (Delegation, error) {
	terms.HolderDid = holder.DID
	return c.As(holder).CreateDelegation(ctx, terms)
}

// Prove requests the proof that a token for one predicate allows its agent; request is that of ProofRequest.
func (c *Client) Prove(ctx context.Context, agent Signer, request DelegatedProofRequest) (ZKProof, error) {
	made, err := c.As(agent).GenerateDelegatedProof(ctx, request)
	return made.Proof, err
}

// Verify calls VerifyProof for the text of a proof. It returns ErrUnbound unless expect has predicates, challenge, domain and issuer, or
// AllowUnbound.
func (c *Client) Verify(ctx context.Context, proof string, expect Expectation) (VerificationResult, error) {
	var missing []string
	names := []string{"predicate", "challenge", "domain", "issuerDid"}
	for place, isNamed := range []bool{
		expect.Predicate != nil || expect.Predicates != nil || expect.Credentials != nil,
		expect.Challenge != nil,
		expect.Domain != nil,
		expect.IssuerDid != nil || expect.Credentials != nil,
	} {
		if !isNamed {
			missing = append(missing, names[place])
		}
	}
	if len(missing) > 0 && !expect.AllowUnbound {
		return VerificationResult{}, fmt.Errorf("%w: expect %s, or set AllowUnbound", ErrUnbound, strings.Join(missing, ", "))
	}
	return c.VerifyProof(ctx, expect.request(proof))
}
