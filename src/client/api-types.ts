// Generated from the OpenAPI document by npm run client:types; a test compares it.

export interface paths {
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List events, newest first */
        get: operations["listEvents"];
        put?: never;
        /**
         * Publish an event
         * @description The event is stored durably when the response is 202. An `Idempotency-Key` header counts as the event’s `idempotencyKey`; `sagapost-correlation-id` and `traceparent` are kept with the event.
         */
        post: operations["publishEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish up to 1,000 events
         * @description Returns one result per item, in order; an invalid item does not affect the others. With an `Idempotency-Key` header, items without a key of their own get `<header>[<index>]`, so that the same batch can be sent again.
         */
        post: operations["publishEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/set-aside": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events that were set aside because the database refused to route them, newest first
         * @description They do not block other events. Once the cause is fixed, `sagapost events requeue` routes them.
         */
        get: operations["listSetAsideEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an event with its payload and deliveries
         * @description By id or webhookId. Returns 404 for the webhookId of another event that once had the same id.
         */
        get: operations["getEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List subscriptions, newest first */
        get: operations["listSubscriptions"];
        put?: never;
        /**
         * Create a subscription
         * @description The response contains the signing secret, which is shown only once. Nothing is sent before the callback is verified. With an `Idempotency-Key`, the same request again gets the same answer.
         */
        post: operations["createSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a subscription, including a deleted one */
        get: operations["getSubscription"];
        put?: never;
        post?: never;
        /**
         * Delete a subscription permanently
         * @description Permanent and repeatable. Open deliveries end as dead letters with `subscription_deleted`, and nothing more is sent; the subscription stays readable with `deletedAt`.
         */
        delete: operations["deleteSubscription"];
        options?: never;
        head?: never;
        /**
         * Change the given fields of a subscription
         * @description Another `callbackUrl` clears `verified` and `active`. `active: true` needs a verification. Open deliveries of an inactive subscription are held until it is active again.
         */
        patch: operations["changeSubscription"];
        trace?: never;
    };
    "/v1/subscriptions/{id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify the callback and activate the subscription
         * @description Sends a signed request with a challenge, which the callback must return. Safe to repeat.
         */
        post: operations["verifySubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a signed test request
         * @description Works for a subscription in any state. No event or delivery is created.
         */
        post: operations["testSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the signing secret
         * @description Requests are signed with both secrets until `previousExpiresAt`. With an `Idempotency-Key`, a repeated request returns the same secret.
         */
        post: operations["rotateSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries, newest first
         * @description A page may be shorter than its limit, even empty, and still have a nextCursor.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a delivery with its attempts, oldest first */
        get: operations["getDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a delivery
         * @description Returns 202 with the delivery in its current state. It ends as a dead letter with `cancelled`, which can be requeued. A request in flight is not aborted; if it succeeds, the delivery completes. Repeatable without an Idempotency-Key.
         */
        post: operations["cancelDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List dead letters, newest first */
        get: operations["listDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a dead letter with its original payload */
        get: operations["getDeadLetter"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/{id}/requeue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Requeue a dead letter
         * @description Creates a new delivery (201). A repeated request returns the same delivery (200), so no Idempotency-Key is needed.
         */
        post: operations["requeueDeadLetter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/requeue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Requeue all dead letters that match a filter
         * @description Starts a saga, which the part `sagas` runs: GET /v1/sagas/{id} shows its progress in `steps[0].progress`, POST /v1/sagas/{id}/cancel stops it; deliveries requeued by then remain. Later dead letters are not included. With an `Idempotency-Key`, the same request again gets the same saga.
         */
        post: operations["requeueDeadLetters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sagas, newest first
         * @description A page may be shorter than its limit and still have a nextCursor.
         */
        get: operations["listSagas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a saga with its steps and history */
        get: operations["getSaga"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a saga and compensate its completed steps
         * @description Returns 202 with the saga in its current state. Repeatable.
         */
        post: operations["cancelSaga"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas/{id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide how a saga that waits for an operator continues
         * @description For a Failed saga whose compensation failed or, with `skip`, a Running saga with a step that waits for something that will not arrive.
         */
        post: operations["resolveSaga"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/signals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a signal to the sagas that wait for it, now or later
         * @description Kept until `expiresAt`. Only the first signal with a name and key counts: a repeated one is answered with `duplicate: true`, another payload with 409.
         */
        post: operations["sendSignal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Published and delivered counts over time, oldest first
         * @description An hour by the minute, or a day by ten minutes. Counts are written every two seconds.
         */
        get: operations["readStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Health of subscription endpoints over the last hour */
        get: operations["readEndpointHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/system": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Processes and their leases, table sizes, index usage, slow statements */
        get: operations["describeSystem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the current state of the system every two seconds
         * @description Server-sent events, each with a snapshot as JSON: rates, percentiles, backlogs and what needs attention. The format belongs to the dashboard and may change with it; programs should use `/metrics` and `/v1/statistics` stay as they are.
         */
        get: operations["watchSystem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Liveness of the process */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readiness of the process */
        get: operations["readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics in the Prometheus format */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        NewEvent: {
            /**
             * @description 1 to 100 characters of A–Z, a–z, 0–9, _, . and -
             * @example order.placed
             */
            type: string;
            /**
             * @description any JSON; stored, signed and sent byte for byte as in the request
             * @example {
             *       "orderId": 7
             *     }
             */
            payload: unknown;
            /** @description a repeated key stores nothing new */
            idempotencyKey?: string;
        };
        EventReceipt: {
            /** @example 1042 */
            id: string;
            /**
             * @description sent to receivers as webhook-id: the same for every attempt and requeue, and unique to the event
             * @example evt_1042_hfd2trxwlc
             */
            webhookId: string;
            /** @example order.placed */
            type: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /** @description true: the key was already used, and this is the original result */
            duplicate: boolean;
        };
        ItemError: {
            error: {
                code: string;
                detail: string;
            };
        };
        Attempt: {
            /** @example 1042 */
            id: string;
            /** @enum {string} */
            status: "Pending" | "Leased" | "Completed" | "Failed";
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            attemptAt: string;
            workerId: string | null;
            responseStatus: number | null;
            errorCode: string | null;
            durationMs: number | null;
            responseExcerpt: string | null;
            /** @description when the worker’s lease expires; null unless Leased */
            leaseUntil: string | null;
            /** @description number of leases that were lost */
            leaseResets: number;
            finishedAt: string | null;
        };
        Delivery: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            eventId: string;
            /** @description webhookId of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @enum {string} */
            status: "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
            attemptCount: number;
            nextAttemptAt: string | null;
            finalErrorCode: string | null;
            /** @description the dead letter that this delivery was created from */
            requeuedFrom: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
        };
        DeliveryWithAttempts: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            eventId: string;
            /** @description webhookId of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @enum {string} */
            status: "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
            attemptCount: number;
            nextAttemptAt: string | null;
            finalErrorCode: string | null;
            /** @description the dead letter that this delivery was created from */
            requeuedFrom: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            attempts: components["schemas"]["Attempt"][];
        };
        Event: {
            /** @example 1042 */
            id: string;
            /**
             * @description sent to receivers as webhook-id: the same for every attempt and requeue, and unique to the event
             * @example evt_1042_hfd2trxwlc
             */
            webhookId: string;
            /** @example order.placed */
            type: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            correlationId: string | null;
        };
        SetAsideEvent: {
            /** @example 1042 */
            eventId: string;
            /** @example order.placed */
            type: string;
            correlationId: string | null;
            /** @description an error code of this API, or a SQLSTATE */
            errorCode: string;
            /** @description the database’s error message */
            reason: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            setAsideAt: string;
        };
        EventWithPayload: {
            /** @example 1042 */
            id: string;
            /**
             * @description sent to receivers as webhook-id: the same for every attempt and requeue, and unique to the event
             * @example evt_1042_hfd2trxwlc
             */
            webhookId: string;
            /** @example order.placed */
            type: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            correlationId: string | null;
            /** @description newest first, at most 200 */
            deliveries: components["schemas"]["Delivery"][];
            /** @description cursor for GET /v1/deliveries?eventId=, when there are more */
            deliveriesNextCursor: string | null;
            /** @description byte for byte as published */
            payload: unknown;
            /**
             * @description the payload is larger than 16 MiB: it is stored but shown as null and never sent
             * @constant
             */
            payloadTooLarge?: true;
        };
        NewSubscription: {
            /** @example order.placed */
            eventType: string;
            /** @example https://receiver.example/hooks */
            callbackUrl: string;
            /** @description 1 to 100; null: the default */
            maxAttempts?: number | null;
            /**
             * @description sent with every delivery
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
            /**
             * @description v1: HMAC-SHA256; v1a: ed25519
             * @enum {string}
             */
            scheme?: "v1" | "v1a";
        };
        SubscriptionChange: {
            /** @example order.placed */
            eventType?: string;
            /**
             * @description a changed URL clears verified and active
             * @example https://receiver.example/hooks
             */
            callbackUrl?: string;
            active?: boolean;
            /** @description 1 to 100; null: the default */
            maxAttempts?: number | null;
            /**
             * @description sent with every delivery
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
        };
        Breaker: {
            /**
             * @description open: paused except for occasional probes; exhausted: the pause has ended and the endpoint still fails
             * @enum {string}
             */
            state: "failing" | "open" | "exhausted";
            /** @description in a row */
            failures: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            failingSince: string;
            lastErrorCode: string | null;
            openedAt: string | null;
            pausedUntil: string | null;
            nextProbeAt: string | null;
        };
        Subscription: {
            /** @example 1042 */
            id: string;
            /** @example order.placed */
            eventType: string;
            /** @example https://receiver.example/hooks */
            callbackUrl: string;
            active: boolean;
            verified: boolean;
            maxAttempts: number | null;
            /**
             * @description the values are hidden from keys that may not change subscriptions
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            deletedAt: string | null;
            deactivationReason: string | null;
            /** @description null: the last attempt succeeded, or there was none */
            breaker: components["schemas"]["Breaker"] | null;
        };
        CreatedSubscription: {
            /** @example 1042 */
            id: string;
            /** @example order.placed */
            eventType: string;
            /** @example https://receiver.example/hooks */
            callbackUrl: string;
            active: boolean;
            verified: boolean;
            maxAttempts: number | null;
            /**
             * @description the values are hidden from keys that may not change subscriptions
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            deletedAt: string | null;
            deactivationReason: string | null;
            /** @description null: the last attempt succeeded, or there was none */
            breaker: components["schemas"]["Breaker"] | null;
            /** @description secret that the receiver verifies signatures with; shown only once */
            secret: string;
        };
        RotatedSecret: {
            /** @description secret that the receiver verifies signatures with; shown only once */
            secret: string;
            previousExpiresAt: string | null;
        };
        TestOutcome: {
            delivered: boolean;
            responseStatus: number | null;
            errorCode: string | null;
            durationMs: number;
            responseExcerpt: string | null;
        };
        DeadLetter: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            deliveryId: string;
            /** @example 1042 */
            eventId: string;
            /** @description webhookId of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @example order.placed */
            eventType: string;
            finalErrorCode: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            failedAt: string;
            attemptCount: number;
            /** @description job of the last attempt, as are workerId and leaseExpiration */
            jobId: string | null;
            workerId: string | null;
            leaseExpiration: string | null;
            correlationId: string | null;
            /** @description the delivery created by the requeue */
            requeuedAs: string | null;
        };
        DeadLetterWithPayload: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            deliveryId: string;
            /** @example 1042 */
            eventId: string;
            /** @description webhookId of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @example order.placed */
            eventType: string;
            finalErrorCode: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            failedAt: string;
            attemptCount: number;
            /** @description job of the last attempt, as are workerId and leaseExpiration */
            jobId: string | null;
            workerId: string | null;
            leaseExpiration: string | null;
            correlationId: string | null;
            /** @description the delivery created by the requeue */
            requeuedAs: string | null;
            /** @description the event’s payload, byte for byte */
            payloadSnapshot: unknown;
            /**
             * @description the payload is larger than 16 MiB: it is stored but shown as null and never sent
             * @constant
             */
            payloadTooLarge?: true;
        };
        RequeueRequest: {
            filter: {
                /** @example 1042 */
                subscriptionId?: string;
                /** @example order.placed */
                eventType?: string;
                errorCode?: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                from?: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                to?: string;
                /**
                 * @description all dead letters; required instead of an empty filter
                 * @constant
                 */
                all?: true;
            };
            /** @description true: only count */
            dryRun?: boolean;
        };
        MatchingDeadLetters: {
            matching: number;
        };
        StartedRequeue: {
            /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
            sagaId: string;
            /** @description dead letters that matched and had not been requeued; later ones are not included */
            matching: number;
        };
        Requeued: {
            /** @example 1042 */
            deliveryId: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @description stable; docs/reference/errors.md lists them */
            code: string;
            errors?: {
                field: string;
                detail: string;
            }[];
            /**
             * @description of verification_failed
             * @enum {string}
             */
            reason?: "request_failed" | "challenge_missing" | "callback_url_changed" | "subscription_deleted" | "superseded";
            /** @description for verification_failed: the response of the callback */
            response?: components["schemas"]["TestOutcome"];
        };
        SagaFailure: {
            code: string;
            message: string;
            type: string | null;
            retryable: boolean | null;
            timestamp: string | null;
            stackTrace: string | null;
            details: {
                [key: string]: unknown;
            } | null;
            cause: components["schemas"]["SagaFailure"] | null;
        };
        Saga: {
            /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
            id: string;
            /** @example checkout */
            definition: string;
            definitionVersion: number;
            /** @description starting a saga with the same key returns this one */
            key: string | null;
            /** @description name of this saga, given when it was started */
            name: string | null;
            description: string | null;
            /** @enum {string} */
            state: "Pending" | "Running" | "StepCompleted" | "Completed" | "Compensating" | "Compensated" | "Failed" | "Cancelled" | "TimedOut";
            /** @description index of the running step, or of the next one */
            currentStep: number;
            totalSteps: number;
            error: components["schemas"]["SagaFailure"] | null;
            /** @description the saga waits for an operator: a compensation failed permanently, or a step waits for something that needs one */
            awaitingOperator: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            startedAt: string | null;
            completedAt: string | null;
            timedOutAt: string | null;
            deadlineAt: string | null;
            /** @description when the saga resumes: at a retry, at the end of a wait, or when its lease expires */
            wakeAt: string | null;
            /** @description the coordinator that holds the lease */
            leaseOwner: string | null;
            leaseUntil: string | null;
            cancelRequestedAt: string | null;
            cancelRequestedBy: string | null;
            cancelReason: string | null;
            traceId: string | null;
            spanId: string | null;
            /** @description the saga that started this one as a step */
            parentId: string | null;
            /** @description from then on the saga is not compensated */
            pivotedAt: string | null;
        };
        SagaStep: {
            index: number;
            name: string;
            /** @enum {string} */
            state: "Pending" | "Running" | "Completed" | "Failed" | "Compensating" | "Compensated" | "Skipped";
            attempts: number;
            maxAttempts: number;
            /** @description outputs of the steps directly before it, or the saga’s input */
            input: {
                [key: string]: unknown;
            } | null;
            /** @description what the step returned; encrypted data is shown encrypted */
            output: unknown;
            /** @description progress of a built-in step: RequeueProgress */
            progress: {
                [key: string]: unknown;
            } | null;
            error: components["schemas"]["SagaFailure"] | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            startedAt: string | null;
            completedAt: string | null;
            lastAttemptAt: string | null;
            /** @description from the definition */
            metadata: {
                [key: string]: unknown;
            } | null;
            /** @description what the step waits or waited for: signal:<name>:<key>, saga:<id> or delivery:<saga>:<step> */
            waitsFor: string | null;
            /** @description when its sleep or wait ends, or when it is retried */
            wakeAt: string | null;
            /** @description null: compensation has not begun */
            compensation: {
                /** @enum {string} */
                state: "Pending" | "Running" | "Completed" | "Failed" | "Compensating" | "Compensated" | "Skipped";
                attempts: number;
                maxAttempts: number;
                startedAt: string | null;
                completedAt: string | null;
                error: components["schemas"]["SagaFailure"] | null;
            } | null;
        };
        SagaEvent: {
            /** @description from 1, without gaps */
            sequence: number;
            /** @enum {string} */
            type: "saga.started" | "saga.step.started" | "saga.step.completed" | "saga.step.failed" | "saga.completed" | "saga.failed" | "saga.cancelled" | "saga.timed_out" | "compensation.started" | "compensation.step.started" | "compensation.step.completed" | "compensation.step.failed" | "compensation.completed" | "compensation.failed" | "retry.attempted" | "retry.exhausted" | "state.changed";
            /** @description null: the entry concerns the saga itself */
            stepIndex: number | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            timestamp: string;
            /** @description state of the step if there is one, otherwise of the saga */
            oldState: string;
            newState: string;
            /** @description for an operator’s action: action, by and why */
            data: {
                [key: string]: unknown;
            } | null;
            /** @description coordinator: its leaseOwner, in the first entry that each coordinator writes */
            metadata: {
                [key: string]: unknown;
            } | null;
            error: components["schemas"]["SagaFailure"] | null;
            traceId: string | null;
            spanId: string | null;
        };
        SagaWithSteps: {
            /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
            id: string;
            /** @example checkout */
            definition: string;
            definitionVersion: number;
            /** @description starting a saga with the same key returns this one */
            key: string | null;
            /** @description name of this saga, given when it was started */
            name: string | null;
            description: string | null;
            /** @enum {string} */
            state: "Pending" | "Running" | "StepCompleted" | "Completed" | "Compensating" | "Compensated" | "Failed" | "Cancelled" | "TimedOut";
            /** @description index of the running step, or of the next one */
            currentStep: number;
            totalSteps: number;
            error: components["schemas"]["SagaFailure"] | null;
            /** @description the saga waits for an operator: a compensation failed permanently, or a step waits for something that needs one */
            awaitingOperator: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            startedAt: string | null;
            completedAt: string | null;
            timedOutAt: string | null;
            deadlineAt: string | null;
            /** @description when the saga resumes: at a retry, at the end of a wait, or when its lease expires */
            wakeAt: string | null;
            /** @description the coordinator that holds the lease */
            leaseOwner: string | null;
            leaseUntil: string | null;
            cancelRequestedAt: string | null;
            cancelRequestedBy: string | null;
            cancelReason: string | null;
            traceId: string | null;
            spanId: string | null;
            /** @description the saga that started this one as a step */
            parentId: string | null;
            /** @description from then on the saga is not compensated */
            pivotedAt: string | null;
            input: unknown;
            /** @description outputs of its steps by name, as of its last wait or its end */
            current: {
                [key: string]: unknown;
            } | null;
            result: unknown;
            metadata: {
                [key: string]: unknown;
            } | null;
            /** @description number of all events */
            eventCount: number;
            steps: components["schemas"]["SagaStep"][];
            /** @description the last 1,000, oldest first */
            events: components["schemas"]["SagaEvent"][];
        };
        SagaCancel: {
            /** @description name of the requester; the API key is recorded as well */
            by: string;
            /** @description reason, recorded in the saga’s history */
            why: string;
        };
        SagaResolution: {
            /**
             * @description retry: compensate again; skip: continue without this step; resolve: accept the state as it is
             * @enum {string}
             */
            action: "retry" | "skip" | "resolve";
            /** @description name of the requester; the API key is recorded as well */
            by: string;
            /** @description reason, recorded in the saga’s history */
            why: string;
        };
        NewSignal: {
            /** @example payment.received */
            name: string;
            /**
             * @description key of the signal
             * @example order-7
             */
            key: string;
            /** @description up to 64 KiB of JSON */
            payload?: unknown;
        };
        SignalReceipt: {
            name: string;
            key: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            receivedAt: string;
            /**
             * Format: date-time
             * @description the signal is kept until then for sagas that wait for it later
             * @example 2026-01-31T12:00:00.000Z
             */
            expiresAt: string;
            /** @description the signal was already received; the first one counts */
            duplicate: boolean;
        };
        StatisticsPoint: {
            /**
             * Format: date-time
             * @description its beginning
             * @example 2026-01-31T12:00:00.000Z
             */
            at: string;
            /** @description events routed; null for a single subscription */
            events: number | null;
            /** @description attempts */
            succeeded: number;
            /** @description attempts */
            failed: number;
            /** @description deliveries */
            deadLettered: number;
            /** @description null: no attempts */
            p50Ms: number | null;
            /** @description null: no attempts */
            p95Ms: number | null;
            /** @description null: no attempts */
            p99Ms: number | null;
        };
        EndpointHealth: {
            /** @example 1042 */
            subscriptionId: string;
            succeeded: number;
            failed: number;
            deadLettered: number;
            /** @description null: no attempts */
            p50Ms: number | null;
            /** @description null: no attempts */
            p95Ms: number | null;
            lastErrorCode: string | null;
            /** @description to the minute */
            lastErrorAt: string | null;
        };
        RunningProcess: {
            id: string;
            hostname: string;
            pid: number;
            version: string;
            parts: string[];
            startedAt: string | null;
            /** @description null: the process was removed but still holds a lease */
            seenAt: string | null;
            /** @description has not reported for 30 seconds */
            lost: boolean;
            /** @description jobs leased by its worker */
            leases: number;
            leasesExpired: number;
            /** @description when the first lease expires */
            leaseUntil: string | null;
        };
        System: {
            schemaVersion: number;
            serverVersion: string;
            databaseBytes: number;
            connections: number;
            connectionsMax: number;
            processes: components["schemas"]["RunningProcess"][];
            tables: {
                name: string;
                tableBytes: number;
                indexBytes: number;
                rowsEstimated: number | null;
                partitions: number;
            }[];
            indexes: {
                name: string;
                table: string;
                bytes: number;
                scans: number;
            }[];
            /** @description null: the extension pg_stat_statements is not installed */
            slowStatements: {
                query: string;
                calls: number;
                meanMs: number;
                totalMs: number;
            }[] | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listEvents: {
        parameters: {
            query?: {
                /** @example order.placed */
                type?: string;
                /** @description the event published with this key */
                idempotencyKey?: string;
                /** @example 2026-01-31T12:00:00Z */
                from?: string;
                /** @example 2026-01-31T12:00:00Z */
                to?: string;
                /** @description page size, at most 200 */
                limit?: number;
                /** @description nextCursor of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Event"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publishEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
                /** @description 1 to 255 printable ASCII characters without spaces; sent along with every delivery */
                "sagapost-correlation-id"?: string;
                /** @description W3C Trace Context; sent along with every delivery */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEvent"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventReceipt"];
                };
            };
            /** @description request_malformed, request_invalid, idempotency_key_required */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large, payload_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, event_type_reserved, event_invalid, payload_invalid, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_much_at_once, too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_busy, overloaded, partition_missing, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publishEvents: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
                /** @description 1 to 255 printable ASCII characters without spaces; sent along with every delivery */
                "sagapost-correlation-id"?: string;
                /** @description W3C Trace Context; sent along with every delivery */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    events: components["schemas"]["NewEvent"][];
                };
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description one result per event, in order */
                        results: (components["schemas"]["EventReceipt"] | components["schemas"]["ItemError"])[];
                    };
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_much_at_once, too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_busy, overloaded, partition_missing, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSetAsideEvents: {
        parameters: {
            query?: {
                /** @description page size, at most 200 */
                limit?: number;
                /** @description nextCursor of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["SetAsideEvent"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description an event’s id or webhookId */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventWithPayload"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                /** @example order.placed */
                eventType?: string;
                active?: "true" | "false";
                /** @description absent: both deleted and other subscriptions */
                deleted?: "true" | "false";
                /** @description whether the last attempt failed, that is, `breaker` is set */
                failing?: "true" | "false";
                /** @description page size, at most 200 */
                limit?: number;
                /** @description nextCursor of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Subscription"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createSubscription: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSubscription"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedSubscription"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_conflict, subscription_secret_invalid, subscription_secret_removed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, callback_url_not_https, callback_url_invalid, callback_url_blocked, subscription_invalid, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionChange"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_verified, subscription_deleted */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, callback_url_not_https, callback_url_invalid, callback_url_blocked, subscription_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verifySubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        verified: true;
                        /** @enum {boolean} */
                        active: true;
                    };
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_deleted, subscription_secret_invalid */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description verification_failed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestOutcome"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_deleted, subscription_secret_invalid */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description how long requests are signed with both secrets; default 24 hours */
                    overlapMs?: number;
                    /**
                     * @description v1: HMAC-SHA256; v1a: ed25519
                     * @enum {string}
                     */
                    scheme?: "v1" | "v1a";
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedSecret"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_deleted, subscription_secret_invalid, idempotency_conflict, subscription_secret_removed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_invalid, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                status?: "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
                /** @example 1042 */
                eventId?: string;
                /** @example 1042 */
                subscriptionId?: string;
                /** @description error code of the last failure, for PendingRetry and DeadLettered deliveries */
                errorCode?: string;
                /** @example order.placed */
                eventType?: string;
                /** @description page size, at most 200 */
                limit?: number;
                /** @description nextCursor of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Delivery"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description delivery_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description delivery_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description delivery_not_cancellable */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeadLetters: {
        parameters: {
            query?: {
                /** @example 1042 */
                subscriptionId?: string;
                /** @example order.placed */
                eventType?: string;
                errorCode?: string;
                /** @example 2026-01-31T12:00:00Z */
                from?: string;
                /** @example 2026-01-31T12:00:00Z */
                to?: string;
                /** @description page size, at most 200 */
                limit?: number;
                /** @description nextCursor of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["DeadLetter"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDeadLetter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterWithPayload"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description dead_letter_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    requeueDeadLetter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requeued"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requeued"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description dead_letter_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_inactive, subscription_deleted */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    requeueDeadLetters: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequeueRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MatchingDeadLetters"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRequeue"];
                };
            };
            /** @description request_malformed, request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, requeue_filter_empty, requeue_too_large, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSagas: {
        parameters: {
            query?: {
                state?: "Pending" | "Running" | "StepCompleted" | "Completed" | "Compensating" | "Compensated" | "Failed" | "Cancelled" | "TimedOut";
                definition?: string;
                traceId?: string;
                /** @description only sagas that wait for an operator */
                awaitingOperator?: "true";
                /** @description page size, at most 200 */
                limit?: number;
                /** @description nextCursor of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Saga"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSaga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SagaWithSteps"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelSaga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SagaCancel"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Saga"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_cancellable */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_resolution_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resolveSaga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SagaResolution"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Saga"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_awaiting_operator */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_resolution_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sendSignal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSignal"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignalReceipt"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description signal_conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description signal_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_busy, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readStatistics: {
        parameters: {
            query?: {
                range?: "hour" | "day";
                /**
                 * @description absent: of all
                 * @example 1042
                 */
                subscriptionId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["StatisticsPoint"][];
                    };
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readEndpointHealth: {
        parameters: {
            query: {
                /** @description comma-separated subscription ids, at most 200 */
                ids: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["EndpointHealth"][];
                    };
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    describeSystem: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["System"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watchSystem: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description overloaded, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
        };
    };
    readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready";
                    };
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "not_ready";
                        obstacles: {
                            code: string;
                            detail: string;
                        }[];
                    };
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the metrics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
