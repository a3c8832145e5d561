import { type FormEvent, type ReactNode, useId } from 'react'
import { useSearchParams } from 'wouter'

/** Filters are kept in the URL, so that views can be shared and the Back button works. */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const [search, setSearch] = useSearchParams()
  const values = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ''])) as Record<
    Name,
    string
  >
  const set = (changes: Partial<Record<Name, string>>) =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      for (const [name, value] of Object.entries(changes) as [Name, string][]) {
        if (value.trim() === '') next.delete(name)
        else next.set(name, value.trim())
      }
      return next
    })
  const clear = () => set(Object.fromEntries(names.map((name) => [name, ''])) as Record<Name, string>)
  return { values, set, clear, isFiltered: Object.values(values).some((value) => value !== '') }
}

interface FilterBarProps {
  onSubmit: (form: FormData) => void
  onClear: () => void
  isFiltered: boolean
  children: ReactNode
}

export function FilterBar({ onSubmit, onClear, isFiltered, children }: FilterBarProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onSubmit(new FormData(event.currentTarget))
  }
  return (
    <search>
      <form
        // Fields follow the URL: Back and Clear reset them.
        key={window.location.search}
        onSubmit={submit}
        onChange={(event) => {
          if (event.target instanceof HTMLSelectElement) event.currentTarget.requestSubmit()
        }}
        className="mb-3 flex flex-wrap items-end gap-2"
      >
        {children}
        <button type="submit" className="button button-primary">
          Search
        </button>
        {isFiltered && (
          <button type="button" className="button" onClick={onClear}>
            Clear
          </button>
        )}
      </form>
    </search>
  )
}

interface FilterFieldProps {
  name: string
  label: string
  value: string
  placeholder?: string
  type?: string
  /** The `/` key focuses this field. */
  isMain?: boolean
}

export function FilterField({
  name,
  label,
  value,
  placeholder,
  type = 'text',
  isMain = false,
}: FilterFieldProps) {
  const id = useId()
  return (
    <div className="min-w-36 flex-1 sm:max-w-56">
      <label htmlFor={id} className="mb-0.5 block text-xs text-soft">
        {label}
      </label>
      <input
        id={id}
        name={name}
        type={type}
        step={type === 'datetime-local' ? 1 : undefined}
        defaultValue={value}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        data-main-search={isMain || undefined}
        className="field"
      />
    </div>
  )
}

export function FilterSelect({
  name,
  label,
  value,
  options,
  unset = 'any',
}: Pick<FilterFieldProps, 'name' | 'label' | 'value'> & {
  options: readonly string[]
  /** The label when no value is selected. */
  unset?: string
}) {
  const id = useId()
  return (
    <div className="min-w-32 flex-1 sm:max-w-44">
      <label htmlFor={id} className="mb-0.5 block text-xs text-soft">
        {label}
      </label>
      <select id={id} name={name} defaultValue={value} className="field">
        <option value="">{unset}</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </div>
  )
}

export function textOf(form: FormData, name: string): string {
  return String(form.get(name) ?? '')
}
