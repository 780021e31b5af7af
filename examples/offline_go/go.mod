module offline

go 1.19

require identity-service-client v1.0.0

replace identity-service-client => ./identity-service-client-go
