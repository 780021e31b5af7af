CREATE INDEX ix_credentials_that_expire ON credentials (valid_until) WHERE holder <> 'did:erased:holder';

CREATE INDEX ix_proofs_expires_at ON proofs (expires_at);
